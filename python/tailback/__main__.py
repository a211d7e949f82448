"""`python -m tailback` is the command `tailback`."""

from tailback.cli import main

if __name__ == "__main__":
    main()
