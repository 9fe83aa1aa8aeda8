class PlainAgent:
    def send(self, message):
        return "It arrives on Monday."


class PoliteAgent:
    def send(self, message):
        return "Thank you for asking! It arrives on Monday."
