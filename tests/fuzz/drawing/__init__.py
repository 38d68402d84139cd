"""The steps of random tensor programs, drawn depending on the tensors of the program."""
