"""A question in, ranked and cited chunks out, or nothing."""
