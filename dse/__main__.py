"""``python -m dse`` is ``dse``."""

from __future__ import annotations

from dse.cli import main

if __name__ == "__main__":
    main()
