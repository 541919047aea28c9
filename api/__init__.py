"""The faces: command line, REST, MCP and the web page."""
