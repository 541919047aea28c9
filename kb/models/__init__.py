"""Embedding and reranking models, and their profiles."""
