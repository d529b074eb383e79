import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SearchableTool } from './fields.ts';
import { packed, questionTexts, toolText, toolVectors, ToolVectors, type PackedVector } from './meaning.ts';
import { maxQueryLength, ToolIndex, type Meaning } from './tool-index.ts';
import { clausesOf, termsOf } from './words.ts';

const schema = (...names: string[]): object => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
});
const tools: readonly SearchableTool[] = [
  {
    server: 'github',
    name: 'createIssue',
    description: 'Opens an issue in a repository.',
    inputSchema: schema('repo', 'title'),
  },
  {
    server: 'github',
    name: 'list_pull_requests',
    description: 'Pull requests of a repository.',
    inputSchema: schema('repo'),
  },
  {
    server: 'mail',
    name: 'send',
    description: 'Sends a message to recipients.',
    inputSchema: schema('recipients', 'subject'),
  },
  {
    server: 'files',
    name: 'write_file',
    title: 'Write a file',
    description: 'Writes text to a path.',
    inputSchema: schema('path'),
  },
  {
    server: 'charts',
    name: 'draw',
    description: 'Makes a picture of numbers.',
    inputSchema: {
      type: 'object',
      properties: { kind: { enum: ['histogram', 'treemap'], description: 'What to make' } },
    },
  },
  { server: 'kb', name: 'lookup', description: '查询城市天气预报', about: 'Knows everything of volcanoes.' },
];
const namesFor = (query: string, limit = 10): string[] =>
  new ToolIndex(tools).search(query, limit).map(({ index }) => `${tools[index]?.server}/${tools[index]?.name}`);

describe('a question finds a tool', () => {
  it.each([
    ['by parts of a name in camel case', 'issues to create', 'github/createIssue'],
    ['by parts of a name in snake case, in another form of the word', 'requested pulls', 'github/list_pull_requests'],
    ['by its description', 'a message for my colleagues', 'mail/send'],
    ['by the name of a parameter', 'recipient', 'mail/send'],
    ['by a value of a parameter', 'treemap', 'charts/draw'],
    ['by the name of its server', 'charts', 'charts/draw'],
    ['by what its server says of itself', 'volcano', 'kb/lookup'],
    ['by a word that means the same', 'directory listing of pull', 'github/list_pull_requests'],
    ['in a script without spaces', '天气怎么样', 'kb/lookup'],
  ])('%s', (_how, query, name) => {
    expect(namesFor(query)[0]).toBe(name);
  });

  it('for each sentence of a question with several steps', () => {
    expect(
      new Set(namesFor('Read all pull requests of the repository. Write a summary to a path. Send it.', 3)),
    ).toEqual(new Set(['github/list_pull_requests', 'files/write_file', 'mail/send']));
  });
});

it('a question of which no tool has a word finds nothing', () => {
  expect(namesFor('quantum chromodynamics')).toEqual([]);
  expect(namesFor('the of and')).toEqual([]);
  expect(namesFor('')).toEqual([]);
  expect(new ToolIndex([]).search('mail', 10)).toEqual([]);
});

it('an answer has as many tools as were asked for, from the wanted ones, best first', () => {
  const index = new ToolIndex(tools);
  const all = index.search('repository issue pull message', 10);
  expect(all.map(({ score }) => score)).toEqual(all.map(({ score }) => score).toSorted((one, other) => other - one));
  expect(index.search('repository issue pull message', 2)).toEqual(all.slice(0, 2));
  expect(index.search('repository issue pull message', 10, (at) => tools[at]?.server === 'mail')).toEqual(
    all.filter(({ index: at }) => tools[at]?.server === 'mail'),
  );
});

it('what follows the longest question is not read', () => {
  expect(namesFor(`${' '.repeat(maxQueryLength)}treemap`)).toEqual([]);
});

it('a tool with a schema of any form can be searched', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), fc.string(), (inputSchema, description, query) => {
      const index = new ToolIndex([{ server: 'one', name: 'tool', description, inputSchema }]);
      expect(index.search(query, 5).length).toBeLessThanOrEqual(1);
      expect(index.search('tool', 5)).toMatchObject([{ index: 0 }]);
    }),
    { numRuns: 300 },
  );
});

it('a schema that goes deep, or has very many parameters, is read up to a bound', () => {
  let deep: object = {};
  for (let depth = 0; depth < 10_000; depth += 1) deep = { properties: { [`deep${depth}`]: deep } };
  const wide = { properties: Object.fromEntries(Array.from({ length: 5_000 }, (_none, at) => [`wide${at}`, {}])) };
  const index = new ToolIndex([
    { server: 'one', name: 'a', inputSchema: deep },
    { server: 'one', name: 'b', inputSchema: wide, description: 'x'.repeat(1_000_000) },
  ]);
  expect(index.bytes).toBeLessThan(1_000_000);
});

it('a text of capital letters alone, which a hostile server may send, is read in one pass', () => {
  expect(termsOf('HTTPServer parseURLFor ABc')).toEqual(termsOf('HTTP Server parse URL For A Bc'));
  expect(termsOf('A'.repeat(300_000))).toHaveLength(1);
});

it('made in steps it answers as one made at once, and lets other work run meanwhile', async () => {
  const many = Array.from({ length: 300 }, (_none, at) => ({
    ...(tools[at % tools.length] as SearchableTool),
    server: `server${at % 7}`,
  }));
  let turns = 0;
  let isMade = false;
  const turn = (): void => {
    turns += 1;
    if (!isMade) setImmediate(turn);
  };
  turn();
  const index = await ToolIndex.inSteps(many);
  isMade = true;
  expect(turns).toBeGreaterThan(10);
  const atOnce = new ToolIndex(many);
  expect(index.bytes).toBe(atOnce.bytes);
  for (const query of ['open an issue', 'write text', 'pull requests of a repository'])
    expect(index.search(query, 50)).toEqual(atOnce.search(query, 50));
});

describe('a model adds the meaning of a question', () => {
  /** By server, so that a text points to the tools of one server. */
  const directions = ['github', 'mail', 'files', 'charts', 'kb'];
  const towards = (server: string): PackedVector =>
    packed(directions.map((each) => (each === server ? 1 : 0.1))) as PackedVector;
  const vectors = (known: (server: string) => boolean = () => true): ToolVectors =>
    new ToolVectors(
      tools.map(({ server }) => server),
      tools.map(({ server }) => (known(server) ? towards(server) : undefined)),
    );
  const index = new ToolIndex(tools);
  const ranked = (query: string, meaning?: Meaning): string[] =>
    index.search(query, 10, undefined, meaning).map(({ index: at }) => tools[at]?.server ?? '');

  it('and finds a tool that has no word of it', () => {
    expect(ranked('correspond', { question: [towards('mail')], tools: vectors() })[0]).toBe('mail');
  });

  it('to its words, which still count', () => {
    expect(
      ranked('treemap', { question: [towards('mail')], tools: vectors() })
        .slice(0, 2)
        .toSorted(),
    ).toEqual(['charts', 'mail']);
  });

  it('to each of its sentences', () => {
    const texts = questionTexts('Correspond with them. Plot it.');
    expect(texts).toEqual(['Correspond with them. Plot it.', 'Correspond with them.', 'Plot it.']);
    const question = ['kb', 'mail', 'charts'].map(towards);
    expect(
      ranked(texts[0] ?? '', { question, tools: vectors() })
        .slice(0, 3)
        .toSorted(),
    ).toEqual(['charts', 'kb', 'mail']);
  });

  it.each([
    ['save it in /root/reports/june.md. Then send it', 'save it in a file .md. Then send it'],
    [String.raw`read C:\Users\me\a.b.xlsx`, 'read a file .xlsx'],
    ['list ~/music and ../x/.config/', 'list a folder and a folder'],
    ['lies /home/jörg/übung/märz.md und /дом/отчёт.md', 'lies a file .md und a file .md'],
    ['compare blé/orge/riz', 'compare blé/orge/riz'],
    ['把它存到/root/a.md。然后发送', '把它存到a file .md。然后发送'],
    [
      'run ./a.sh, ask https://x.example/a/b.html and and/or 1/2',
      'run a file .sh, ask https://x.example/a/b.html and and/or 1/2',
    ],
    ['what does /help do in shadcn/ui', 'what does /help do in shadcn/ui'],
  ])('which reads the kind of a file in place of its path: %s', (query, text) => {
    expect(questionTexts(query)[0]).toBe(text);
  });

  it('and has a text for each sentence that words are ranked by, whatever paths are in it', () => {
    for (const query of ['Save it to /root/a.md. Send it.', 'Read /a/b.c;d.e\nGo.', 'One. /x/y! Two? ~/z.'])
      expect(questionTexts(query)).toHaveLength(1 + clausesOf(query).length);
    expect(questionTexts('/a'.repeat(1_000_000))).toEqual(['a folder']);
  });

  it.each([
    ['no tool has a vector yet', (): boolean => false],
    ['only other tools have one', (server: string): boolean => server === 'kb'],
  ])('and leaves the order by words where %s', (_what, known) => {
    for (const query of ['create an issue in a repository', 'send a message', 'write to a path'])
      expect(
        ranked(query, { question: [towards('kb')], tools: vectors(known) }).filter((each) => each !== 'kb'),
      ).toEqual(ranked(query).filter((each) => each !== 'kb'));
  });

  it('and a packed vector has nearly the direction it had', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 8, maxLength: 8 }), (numbers) => {
        const vector = packed([...numbers, 1]);
        const length = Math.hypot(...numbers, 1);
        expect(vector?.values).toHaveLength(9);
        [...numbers, 1].forEach((each, at) =>
          expect((vector?.values[at] ?? 0) * (vector?.scale ?? 0)).toBeCloseTo(each / length, 2),
        );
      }),
    );
    expect(packed([0, 0])).toBeUndefined();
    expect(packed([Number.NaN])).toBeUndefined();
    expect(packed([])).toBeUndefined();
  });

  it('of which the text of a tool has three parts: all of it, its first sentence, and its parameters', () => {
    expect(toolText(tools[0] as SearchableTool).split('\0')).toEqual([
      'github create Issue: Opens an issue in a repository.. repo, title',
      'create Issue: Opens an issue in a repository.',
      'create Issue: repo, title',
    ]);
    const hostile = { server: 's', name: 't\0u', description: 'One\0two. Three.\nFour.', inputSchema: {} };
    expect(toolText(hostile).split('\0')).toEqual(['s t u: One two. Three.\nFour.', 't u: One two.', 't u: ']);
  });

  it('and the vector of a tool is the mean of those of its parts, which are asked for in batches', async () => {
    const asked: (readonly string[])[] = [];
    const embed = (texts: readonly string[]): Promise<readonly PackedVector[]> => {
      asked.push(texts);
      return Promise.resolve(texts.map((text) => packed(text.startsWith('x') ? [1, 0] : [0, 1]) as PackedVector));
    };
    const { signal } = new AbortController();
    const [both, one] = await toolVectors({ batch: 2, embed }, ['x\0y', 'y\0y\0y\0x'], signal);
    expect(asked).toEqual([['x', 'y'], ['y', 'y'], ['y']]);
    expect(both).toEqual(packed([1, 1]));
    expect(one?.values).toEqual(packed([0, 1])?.values);
  });
});
