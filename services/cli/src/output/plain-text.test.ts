import { expect, it } from 'vitest';
import { plainText } from './plain-text.ts';

it('wraps prose and lists, keeps code, and names the topics of links', () => {
  const page = `# A page

<!-- Generated -->

Some **words** that are longer than the line, and [a link](../how-to/limits.md#quotas), [nats.md](nats.md), [elsewhere](https://example.com).

- one item that is longer than a line has room for
- two

\`\`\`yaml
key:  [a,   b]   # as long as it is, code is never broken and keeps its blanks
\`\`\`
After code.
`;
  expect(plainText(page, 40)).toBe(`A page
======

Some words that are longer than the
line, and a link [limits], [nats],
elsewhere.

- one item that is longer than a line
  has room for
- two

    key:  [a,   b]   # as long as it is, code is never broken and keeps its blanks

After code.
`);
});

it('shows a table as a list with the names of the columns, and a diagram as a note', () => {
  const page = `| option | takes | default |
|---|---|---|
| \`a \\| b\` | text | |
| c | map | none |

\`\`\`mermaid
flowchart LR
\`\`\`
`;
  expect(plainText(page, 80)).toBe(`- \`a | b\`: takes: text
- c: takes: map; default: none

(A diagram, which the site of the documents shows.)
`);
});
