"""Memory as tools of the Model Context Protocol: over HTTP in the recall service, over stdio by ``afterturn mcp``."""
