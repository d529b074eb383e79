/** The documents of this version, in a terminal: a list of topics, or one page as plain text. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommandProblem } from '@omnibus/client';
import { nearestOf } from '@omnibus/config';
import { answer, answerJson, runCommand } from '../output/outcome.ts';
import { plainText } from '../output/plain-text.ts';

interface Topic {
  readonly topic: string;
  readonly kind: string;
  readonly title: string;
}

interface Page extends Topic {
  readonly markdown: string;
}

const kinds = ['tutorials', 'how-to', 'reference', 'explanation', 'runbooks'];
/** Characters of a line where the width of the terminal is not known, or is larger. */
const widest = 100;

/** The folder of the documents, in the package or in a checkout. */
const folder = ['../docs/', '../../../../docs/']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((place) => existsSync(join(place, 'README.md')));

export interface DocsOptions {
  readonly json?: boolean;
}

/** @param topic the name of a page; without one, or with an empty one, the topics are listed. */
export function docs(topic: string | undefined, { json }: DocsOptions): Promise<void> {
  return runCommand(json, () => {
    const pages = pagesOf();
    if (topic === undefined || topic.trim() === '') {
      if (json === true)
        answerJson({ topics: pages.map(({ topic: name, kind, title }) => ({ topic: name, kind, title })) });
      else answer(listOf(pages));
      return Promise.resolve('done');
    }
    const { markdown, ...page } = find(topic, pages);
    if (json === true) answerJson({ ...page, text: markdown });
    else answer(plainText(markdown, Math.min(process.stdout.columns ?? widest, widest)));
    return Promise.resolve('done');
  });
}

/** @throws {CommandProblem} where this program has no documents. */
function pagesOf(): readonly Page[] {
  if (folder === undefined)
    throw new CommandProblem('other', 'the documents are missing beside this program', {
      advice: 'Install the package again, or read `docs` in the repository.',
    });
  return kinds.flatMap((kind) =>
    readdirSync(join(folder, kind))
      .filter((name) => name.endsWith('.md') && name !== 'README.md')
      .toSorted()
      .map((name) => {
        const markdown = readFileSync(join(folder, kind, name), 'utf8');
        return {
          topic: name.slice(0, -'.md'.length),
          kind,
          title: /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll('`', '') ?? name,
          markdown,
        };
      }),
  );
}

/** @throws {CommandProblem} for an unknown topic, with those that it may stand for. */
export function find<Found extends Topic & { readonly markdown: string }>(
  topic: string,
  pages: readonly Found[],
): Found {
  // Messages name a page by its path.
  const wanted = topic.toLowerCase().replaceAll(/^docs\/|\.md$/g, '');
  const page = pages.find((each) => wanted === each.topic || wanted === `${each.kind}/${each.topic}`);
  if (page !== undefined) return page;
  const similar = nearestOf(
    wanted,
    pages.map((each) => each.topic),
  );
  // Pages that mention the word often are about it, whatever their name is.
  const mentions = ({ title, markdown }: Found): number =>
    (title.toLowerCase().includes(wanted) ? 1_000 : 0) + markdown.toLowerCase().split(wanted).length - 1;
  const near = [
    ...(similar === undefined ? [] : [similar]),
    ...pages.filter((each) => each.topic.includes(wanted) || wanted.includes(each.topic)).map((each) => each.topic),
    ...pages
      .filter((each) => mentions(each) > 1)
      .toSorted((one, other) => mentions(other) - mentions(one))
      .map((each) => each.topic),
  ];
  const few = [...new Set(near)].slice(0, 3);
  throw new CommandProblem('unknown', `there is no page ${JSON.stringify(topic)}`, {
    advice:
      few.length === 0
        ? '"omnibus docs" lists all.'
        : `Near it: ${few.map((each) => `omnibus docs ${each}`).join(', ')}. "omnibus docs" lists all.`,
  });
}

function listOf(pages: readonly Topic[]): string {
  const width = Math.max(...pages.map(({ topic }) => topic.length));
  const sections = kinds.map((kind) =>
    [
      `${kind}:`,
      ...pages.filter((page) => page.kind === kind).map(({ topic, title }) => `  ${topic.padEnd(width)}  ${title}`),
    ].join('\n'),
  );
  return `${sections.join('\n\n')}\n\nomnibus docs TOPIC prints a page.\n`;
}
