"""The core: schedulers, link, HTTP/3, simulation, metrics and statistics. Nothing here opens a file or reads a clock."""
