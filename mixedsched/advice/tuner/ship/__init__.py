"""Files that a site owner can put in place on any server: response headers, tags, and configuration for popular servers."""
