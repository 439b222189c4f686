"""What commands show besides lines of text: pages, pictures, and a page for the keyboard."""
