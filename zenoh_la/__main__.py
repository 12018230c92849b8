"""`python -m zenoh_la` is `zla`."""

from zenoh_la.cli import main

if __name__ == "__main__":
    main()
