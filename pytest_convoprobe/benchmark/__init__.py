"""From a described behaviour to pass rates: metrics, scenarios, conversations, scores, and their sums.

Five stages, each a table of rows that are made once and found again by what they were made of. A
stage says which rows there are to be; an engine makes the missing ones, on this machine or on many; the
driver between them writes each row as it comes.
"""
