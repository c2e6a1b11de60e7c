"""Commands and files of another machine, reached by ssh."""
