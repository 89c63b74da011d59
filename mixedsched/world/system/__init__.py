"""The operating system: child processes, their precedence, programs, UDP sockets, locks."""
