"""What is made of the built book for a course: nothing is written twice."""
