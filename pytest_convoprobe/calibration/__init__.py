"""How right the judge is, measured on conversations of which somebody knows the truth.

`labels_format` and `loading` read labels files, `judging` asks the judge, `agreement` counts, `measured`
keeps what came out, and `requirement` compares it with what the project asks for.
"""
