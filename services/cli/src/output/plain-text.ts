/** Markdown of our own documents as plain text for a terminal or pager: code stays as it is, prose is wrapped, tables become lists. */

/**
 * @param markdown a page of `docs`
 * @param width characters of a line; code and words that are longer are not broken.
 */
export function plainText(markdown: string, width: number): string {
  const blocks = markdown
    .replaceAll(/<!--[^]*?-->\n*/g, '')
    .replaceAll(/```mermaid\n[^]*?```/g, '(A diagram, which the site of the documents shows.)')
    .split(/^(```[^]*?^```)$/m);
  const text = blocks.map((block) => (block.startsWith('```') ? codeOf(block) : proseOf(block, width))).join('\n\n');
  return `${text.replaceAll(/\n{3,}/g, '\n\n').trim()}\n`;
}

const codeOf = (block: string): string =>
  block
    .split('\n')
    .slice(1, -1)
    .map((line) => (line === '' ? '' : `    ${line}`))
    .join('\n');

/** Marks of pictures, bold text and entities go. A link to a page shows the topic of the page behind its text. */
const unmarked = (text: string): string =>
  text
    .replaceAll(/!\[([^\]]*)\]\([^)]*\)/g, '(picture: $1)')
    .replaceAll(/\[([^\]]+)\]\((?:[^)]*\/)?([\w-]+)\.md(?:#[^)]*)?\)/g, (_, words: string, topic: string) =>
      words === `${topic}.md` ? `[${topic}]` : `${words} [${topic}]`,
    )
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
    .replaceAll('&lt;', '<')
    .replaceAll(String.raw`\|`, '|');

function proseOf(block: string, width: number): string {
  return block
    .split(/\n{2,}/)
    .map((paragraph) => paragraphOf(paragraph.trim(), width))
    .filter((paragraph) => paragraph !== '')
    .join('\n\n');
}

function paragraphOf(paragraph: string, width: number): string {
  const lines = paragraph.split('\n');
  if (lines[0]?.startsWith('#') === true) {
    const heading = unmarked(lines[0].replace(/^#+ /, ''));
    const rest = lines.slice(1).join('\n').trim();
    return [
      `${heading}\n${(lines[0].startsWith('# ') ? '=' : '-').repeat(heading.length)}`,
      ...(rest === '' ? [] : [paragraphOf(rest, width)]),
    ].join('\n');
  }
  if (lines[0]?.startsWith('|') === true) return tableOf(lines, width);
  // A list has an item on each line that begins with its mark; other lines continue it.
  return paragraph
    .split(/\n(?=\s*(?:[-*]|\d+\.) )/)
    .map((item) => {
      const [mark = ''] = /^\s*(?:[-*]|\d+\.) /.exec(item) ?? [];
      return wrap(unmarked(item), width, ' '.repeat(mark.length));
    })
    .join('\n');
}

/** A row becomes an item: its first cell, and the others behind the names of their columns. */
function tableOf(lines: readonly string[], width: number): string {
  const [head = [], , ...rows] = lines.map((line) =>
    line
      .replaceAll(/^\||\|$/g, '')
      .split(/(?<!\\)\|/)
      .map((cell) => unmarked(cell.trim())),
  );
  return rows
    .map(([first = '', ...cells]) => {
      const others = cells.flatMap((cell, at) => {
        const name = head[at + 1] ?? '';
        return cell === '' ? [] : [name === '' || cells.length === 1 ? cell : `${name}: ${cell}`];
      });
      return wrap(`- ${first}${first === '' || others.length === 0 ? '' : ': '}${others.join('; ')}`, width, '    ');
    })
    .join('\n');
}

/** Breaks a text at blanks. @param indent in front of every line but the first */
function wrap(text: string, width: number, indent: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).filter((each) => each !== '')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = `${indent}${word}`;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}
