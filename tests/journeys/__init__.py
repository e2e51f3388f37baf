"""What the documents promise a person with a task, from their files to the answer."""
