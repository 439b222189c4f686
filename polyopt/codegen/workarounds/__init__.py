"""What is done for the sake of one compiler: its versions, the fault, and when the file can go."""
