"""The demo's dishes and people. A dish stands under its main taste; after the bar, a second one."""

DISHES = {
    "sweet": """
        Lemon Ricotta Tart
        Tiramisu
        Sticky Toffee Pudding | comfort
        Mango Sticky Rice
        Chocolate Lava Cake
        Baklava
        Apple Crumble | comfort
        Crème Brûlée
        Banana Bread | comfort
        Raspberry Pavlova
        Chili Chocolate Truffles | spicy
        Cinnamon Rolls
        Churros with Caramel
        Pecan Pie | comfort
        Strawberry Shortcake
        Matcha Cheesecake | green
        Gulab Jamun
        Salted Caramel Ice Cream
        Pastel de Nata
        Blueberry Pancakes | comfort
        Black Forest Cake
        Coconut Macaroons
        Dulce de Leche Crêpes
        Maple Bacon Doughnut | smoky
        Panna Cotta with Cherries
        Peach Cobbler | comfort
        Carrot Cake | green
        Linzer Torte
        Gingerbread | spicy
        Profiteroles
        Rice Pudding | comfort
        Rhubarb Fool | green
        Affogato
        Honey Almond Nougat
        Toasted Marshmallow S'mores | smoky
        Key Lime Pie
        Poached Pears
        Sachertorte
        Red Bean Mochi
        Orange Blossom Semolina Cake
    """,
    "spicy": """
        Szechuan Eggplant | green
        Chicken Vindaloo
        Kimchi Jjigae
        Jerk Chicken | smoky
        Green Papaya Salad | green
        Mapo Tofu
        Lamb Rogan Josh
        Beef Rendang
        Buffalo Wings | comfort
        Chorizo Tacos | smoky
        Doro Wat
        Dan Dan Noodles
        Penne all'Arrabbiata | comfort
        Thai Red Curry
        Chili con Carne | comfort
        Piri-Piri Chicken | smoky
        Tom Yum Soup | seafood
        Jalapeño Poppers | comfort
        Shakshuka
        Kung Pao Chicken
        Laksa | seafood
        Merguez Couscous
        Spicy Tuna Roll | seafood
        Nashville Hot Chicken | comfort
        Pad Kra Pao
        Chana Masala | green
        Tteokbokki
        Harissa Carrots | green
        Enchiladas Rojas | comfort
        Chongqing Hot Pot
        Peri-Peri Prawns | seafood
        Aloo Gobi | green
        Chipotle Burrito Bowl | smoky
        Nduja Pizza
        Green Chile Stew
        Goat Pepper Soup
        Sambal Green Beans | green
        Tandoori Chicken | smoky
        Hot and Sour Soup
        Berbere Lentils
    """,
    "seafood": """
        Grilled Octopus | smoky
        Lobster Bisque
        Spaghetti alle Vongole
        Ceviche
        Moules Frites | comfort
        Miso Black Cod
        Fish and Chips | comfort
        Shrimp Scampi
        Oysters on the Half Shell
        Salmon Nigiri
        Bouillabaisse
        Crab Cakes
        Seafood Paella
        Clam Chowder | comfort
        Seared Scallops
        Baked Sea Bass
        Calamari Fritti | comfort
        Tuna Tartare
        Prawn Dumplings
        Gravlax
        Sole Meunière
        Cioppino
        Squid Ink Risotto
        Fish Tacos | spicy
        Sardines on Toast
        Poke Bowl | green
        Moqueca
        Smoked Salmon Bagel | smoky
        Unagi Donburi | smoky
        Lobster Roll | comfort
        Halibut with Capers
        Shrimp and Grits | comfort
        Gambas al Ajillo | spicy
        Steamed Turbot
        Kerala Fish Curry | spicy
        Takoyaki
        Crab Linguine
        Niçoise Salad | green
        Mackerel Escabeche
        Sea Urchin Toast
    """,
    "comfort": """
        Macaroni and Cheese
        Shepherd's Pie
        Chicken Noodle Soup
        Lasagna
        Meatloaf with Gravy
        Grilled Cheese Sandwich
        Beef Stroganoff
        Pierogi
        Chicken Pot Pie
        Mashed Potatoes
        Cheeseburger | smoky
        French Onion Soup
        Spaghetti with Meatballs
        Chicken and Dumplings
        Poutine
        Goulash | spicy
        Potato Gratin
        Tonkatsu
        Moussaka
        Bangers and Mash
        Biscuits and Gravy
        Gnocchi al Ragù
        Wiener Schnitzel
        Stuffed Peppers | green
        Tuna Noodle Casserole | seafood
        Swedish Meatballs
        Cheese Fondue
        Congee
        Tomato Soup with Toast | green
        Käsespätzle
        Beef Bourguignon
        Rösti with Egg
        Oyakodon
        Risotto Milanese
        Cottage Fries
        Croque Monsieur
        Split Pea Soup | smoky
        Cornbread Stuffing
        Chicken Parmesan
        Bubble and Squeak | green
    """,
    "green": """
        Kale Caesar Salad
        Minted Pea Soup
        Tabbouleh
        Avocado Toast
        Grilled Asparagus | smoky
        Spinach and Feta Salad
        Zucchini Noodles with Pesto
        Greek Salad
        Falafel Wrap
        Quinoa Bowl
        Roasted Brussels Sprouts | smoky
        Edamame with Sea Salt
        Caprese Salad
        Green Goddess Salad
        Spanakopita | comfort
        Palak Paneer | spicy
        Artichokes with Lemon
        Broccoli Stir-Fry
        Fattoush
        Summer Rolls
        Wakame Salad | seafood
        Stuffed Vine Leaves
        Cucumber Gazpacho
        Broad Bean Crostini
        Watercress Soup
        Ratatouille | comfort
        Bok Choy with Garlic
        Fennel and Orange Salad
        Leek Vinaigrette
        Swiss Chard Frittata
        Chimichurri Cauliflower | smoky
        Lentil and Herb Salad
        Green Bean Almondine
        Celeriac Remoulade
        Nettle Gnudi | comfort
        Waldorf Salad | sweet
        Arugula and Pear Salad | sweet
        Pea Shoot Risotto | comfort
        Guacamole | spicy
        Okra with Tomatoes
    """,
    "smoky": """
        Texas Brisket
        Pulled Pork Shoulder
        Baby Back Ribs | sweet
        Smoked Trout Pâté | seafood
        Burnt Ends
        Baba Ganoush | green
        Smoked Duck Breast
        Charred Corn Elote | spicy
        Kielbasa from the Grill
        Chicken Yakitori
        Hickory Smoked Turkey
        Lamb Kofta | spicy
        Pastrami on Rye
        Asado Short Ribs
        Smoked Gouda Burger | comfort
        Bacon Wrapped Dates | sweet
        Ember Roasted Beets | green
        Cedar Plank Salmon | seafood
        Carne Asada
        Smoked Eel with Horseradish | seafood
        Campfire Beans | comfort
        Hangi Pork
        Barbecue Chicken Pizza | comfort
        Churrasco
        Speck and Apple Flatbread
        Lapsang Tea Eggs
        Smoked Paprika Potatoes | comfort
        Galbi | sweet
        Andouille Gumbo | spicy
        Adana Kebab | spicy
        Black Forest Ham Plate
        Wood-Fired Calçots | green
        Peat Smoked Haddock | seafood
        Mesquite Flank Steak
        Scamorza on the Grill
        Suckling Pig on the Spit
        Char Siu Pork | sweet
        Smoked Almond Romesco
        Cochinita Pibil | spicy
        Maple Smoked Ham | sweet
    """,
}

PEOPLE = """
    Abeni Ada Agnes Aiko Aisha Akira Alba Alejandro Alice Alma Amara Amina Amir Ana Anders
    Andrei Anika Anouk Antonio Anya Arjun Arlo Asha Astrid Aurora Aya Ayşe Baraka Bart Basma
    Beatriz Ben Bianca Bilal Birgit Björn Brigid Bruno Camila Carlos Carmen Cecilia Chandra
    Chiara Chidi Chloé Cian Clara Daan Daniela Darius David Dawit Delphine Deniz Devi Dieter
    Dina Diego Dimitra Dmitri Dolores Edith Eileen Ekaterina Elias Elif Elio Elodie Emeka Emil
    Emma Enzo Erik Esperanza Esra Esther Eun-ji Eva Fabian Farah Fatima Felix Femi Fernanda
    Filip Finn Fiona Florian Frida Gabriel Gaia Georg Giorgio Giulia Gloria Goran Grace Greta
    Guillermo Gustav Hana Hannah Harriet Hassan Hector Heidi Helena Henrik Hiro Hugo Ibrahim Ida
    Idris Ignacio Ilse Imani Imre Inés Ingrid Irina Isaac Isla Ivan Jabari Jacek Jada Jamal Jana
    Jasper Javier Jia Jin Joana Johan Jolanta Jonas Josefina Juan Jude Julia Jun Kaan Kai Kamala
    Karim Katarzyna Kenji Keiko Kerstin Khalid Kiran Kofi Kwame Lakshmi Lars Laszlo Laura Layla
    Leif Leila Leo Leonor Liam Lin Linnea Livia Lorenzo Lucia Ludwig Luis Luna Mads Magda
    Mahmoud Maja Malik Manuel Marek Margot Maria Marisol Marta Mateo Matilda Maya Mehmet Mei
    Mikael Milan Mina Miriam Mohan Moira Monique Nadia Naoki Nasrin Natalia Nia Niamh Nicolás
    Niklas Nils Nina Noa Noor Nuno Obi Olga Oliver Olivia Omar Orla Oskar Otto Pablo Padma
    Paloma Paolo Parisa Pavel Pedro Petra Piotr Priya Quentin Quinn Rafael Rahel Rajesh Ramona
    Rania Ravi Rebecca Reza Rhys Rita Roberto Rohan Rosa Rowan Ruth Saga Salma Samir Samuel Sana
    Sander Sanjay Saoirse Sara Sean Selma Serge Shira Shirin Signe Simone Sofia Solveig Soren
    Stella Sunil Susanna Sven Tadeo Tamar Tariq Tatiana Teresa Thabo Theo Tilda Tobias Tomás Uma
    Ursula Valeria Vera Viktor Vikram Violeta Wanda Wei Wren Xavier Ximena Yara Yasmin Yiannis
    Yoko Yuki Yusuf Zadie Zahra Zeynep Zofia Zoltan Zuri
"""
