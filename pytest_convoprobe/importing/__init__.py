"""Scenarios from the suites of other tools, and an account of what they no longer check.

From the bottom: `notes` (what becomes of each check), `sources` (files of others), `building` (one scenario
with its account), a reader for each format, `formats` (the table of them), `writing` (the files).
"""
