"""`python -m mpxgat`, the same as the command `mpxgat`."""

from mpxgat.cli.app import main

if __name__ == "__main__":
    main()
