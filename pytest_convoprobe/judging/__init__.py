"""From a finished conversation to a verdict: checks by code, criteria by a judge, evidence for both."""
