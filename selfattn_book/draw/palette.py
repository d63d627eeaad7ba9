"""The palette of the book's pictures, and their fonts, which `_config/course/figures.js` repeats.

Each role has one color in every chapter, on light and on dark ground. The lines of the five roles of
attention differ for red-green-blind readers (CIE76 difference 19 on light ground, 15 on dark).
"""

FONTS = "'Source Sans 3','Helvetica Neue',Arial,'Liberation Sans',sans-serif"
LIGHT, DARK = 0, 1
# name: on light ground, on dark ground. On a tint, text is ink.
COLORS = {
    "paper": ("#fdfcf9", "#15181c"),
    "ink": ("#24282d", "#e4e1da"),
    "ink-tint": ("#f4f2ec", "#1e2228"),
    "muted": ("#5a5f66", "#a8adb4"),
    "muted-tint": ("#f1efe8", "#20242a"),
    "residual": ("#7c8797", "#8a96a8"),  # the residual stream; frames; never text
    "residual-tint": ("#e9ebef", "#262b33"),
    "query": ("#0a70bd", "#5fb0f2"),
    "query-tint": ("#dcebf7", "#17334a"),
    "key": ("#bd4a00", "#f08a48"),
    "key-tint": ("#fce8da", "#452814"),
    "value": ("#007d5c", "#35bf94"),
    "value-tint": ("#d9f1e8", "#103a2e"),
    "weights": ("#6f2a78", "#eab6ec"),
    "weights-tint": ("#efdff0", "#43293f"),
    "context": ("#553c00", "#f7dc7a"),
    "context-tint": ("#f5e9c4", "#40350f"),
    "mask": ("#6b7078", "#8f959e"),  # always hatched
    "mask-tint": ("#e6e4de", "#2b3037"),
    "wrong": ("#b3261e", "#ff9188"),  # always dashed, and named
    "wrong-tint": ("#fbe6e3", "#3f1c1a"),
    # words are told apart by their ground; the letters on it are ink
    "word-0": ("#2a86b8", "#3d8fbe"),
    "word-0-tint": ("#b9e0f6", "#1d4f6e"),
    "word-1": ("#94831a", "#a8962a"),
    "word-1-tint": ("#f7ec9c", "#575012"),
    "word-2": ("#b85c8e", "#bf6496"),
    "word-2-tint": ("#f6c3dc", "#6d2f50"),
    "word-3": ("#7b7f86", "#8d929a"),
    "word-3-tint": ("#dedfe8", "#3c424a"),
    # the shades of heat maps: nothing, much, and much below nothing; and the numbers on them
    "zero": ("#eef2f6", "#20262d"),
    "plus": ("#113f75", "#64ade9"),
    "minus": ("#6f3000", "#e29054"),
    "on-pale": ("#000000", "#ffffff"),
    "on-deep": ("#ffffff", "#000000"),
}


def style_sheet() -> str:
    """Return the palette as CSS variables.

    Example:
        >>> print(style_sheet()[:53])
        :root {
          --fig-paper: light-dark(#..., #...);
    """
    names = "".join(
        f"  --fig-{name}: light-dark({pale}, {dark});\n" for name, (pale, dark) in COLORS.items()
    )
    return f":root {{\n{names}}}\n"
