"""From a raw csv of books to a served, explained recommendation.

python examples/invented.py . && python examples/books.py .      # needs tastemix[serve]
"""

import json
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import tastemix as tm

folder = Path(sys.argv[1] if sys.argv[1:] else sys.exit(__doc__))
ratings = tm.read(  # semicolons, Latin-1 and quotes are found out; a zero means no rating
    folder / "ratings.csv", user="User-ID", item="ISBN", rating="Book-Rating", missing=0
)
books = tm.read_items(folder / "books.csv", id="ISBN", title="Book-Title")
model = tm.fit(ratings, items=books)
model.save(folder / "books.tastemix")
print(ratings, "\nTastes: " + "; ".join(model.tastes(n=1)["name"].to_pylist()))

reader = ratings.users[0]
command = ["tastemix", "serve", str(folder / "books.tastemix"), "--port", "0", *sys.argv[2:]]
service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
try:
    address = next(word for word in service.stdout.readline().split() if "://" in word)
    person = f"{address}/api/v1/users/{reader}"
    best = json.load(urlopen(f"{person}/recommendations?n=1"))["items"][0]
    print(f"{address} recommends {best['title']} to reader {reader}: {best['rating']:.1f} of 10")
    for part in json.load(urlopen(f"{person}/items/{best['id']}/explanation"))["parts"]:
        print(f"  {part['value']:+.2f}  {part['name']}")
finally:
    service.terminate()
print(f"To see the page: tastemix serve {folder / 'books.tastemix'}")
