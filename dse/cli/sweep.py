def sweep() -> int:
    return 0
