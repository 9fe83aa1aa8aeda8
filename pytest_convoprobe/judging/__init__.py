"""From a finished conversation to a verdict: checks in code, criteria by a judge, evidence for both."""
