"""One way to run: the trial, the pool, the session, judging again, and going on from a turn."""
