/**
 * Texts with `${…}`: cuts them into literal parts and expressions, each with its place in the text. `$${` stands for the
 * characters `${` themselves. What is inside is not looked at here, but for quotes and brackets, to find where it ends.
 */
type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  /** `start`: where the expression begins in the template, after `${`. */
  | { readonly kind: 'expression'; readonly text: string; readonly start: number };

interface Template {
  readonly parts: readonly TemplatePart[];
  /** Where an expression begins that has no end. */
  readonly unclosed?: number;
}

export function splitTemplate(text: string): Template {
  const parts: TemplatePart[] = [];
  let literal = '';
  let at = 0;
  const flush = (): void => {
    if (literal !== '') parts.push({ kind: 'text', text: literal });
    literal = '';
  };
  while (at < text.length) {
    if (text.startsWith('$${', at)) {
      literal += '${';
      at += 3;
    } else if (text.startsWith('${', at)) {
      const end = findClosing(text, at + 2);
      if (end === undefined) return { parts, unclosed: at };
      flush();
      parts.push({ kind: 'expression', text: text.slice(at + 2, end), start: at + 2 });
      at = end + 1;
    } else {
      literal += text[at];
      at += 1;
    }
  }
  flush();
  return { parts };
}

/** The `}` that ends an expression beginning at `from`; those inside of texts and of inner brackets do not count. */
function findClosing(text: string, from: number): number | undefined {
  let open = 0;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"' || character === "'") {
      for (at += 1; at < text.length && text[at] !== character; at += 1) if (text[at] === '\\') at += 1;
    } else if (character === '{') open += 1;
    else if (character === '}') {
      if (open === 0) return at;
      open -= 1;
    }
  }
  return undefined;
}
