"""`python -m mixedsched` is the command line."""

from mixedsched.cli import main

if __name__ == "__main__":
    main()
