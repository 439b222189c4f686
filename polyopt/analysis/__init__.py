"""What is true of a program: facts that hold for every size, with witnesses where they fail.

``dependences``  who reads what whom wrote, exactly; ``distance`` shows it
``bounds``       every access inside its array, every read after a write
``parallelism``  which source loops carry nothing, which can be exchanged
``footprint``    what a tile touches, what it needs from outside, boxes around it
``interpreter``  the slow oracle: typed semantics, and programs run instance by instance
``sets``         points of integer sets: how many, which ones, bounds on their dimensions
"""
