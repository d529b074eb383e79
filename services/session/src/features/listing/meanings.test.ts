/** Tools ranked by meaning with a model behind an address: a server of the test that speaks OpenAI's protocol for embeddings. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { latestLegacyRevision, latestModernRevision, noLists, type CatalogRecord } from '@omnibus/protocol';
import { finderNames } from '@omnibus/catalog';
import { WorkerUnderTest, type ClientUnderTest } from '../../worker-under-test.ts';

interface Asked {
  readonly input: readonly string[];
  readonly model?: string;
  readonly key: string | undefined;
}

/** A model for which a text is a direction for each topic that it is about. */
const topics = [/mail|message|correspond/i, /issue|bug|defect/i, /file|folder/i, /$/];

class ModelUnderTest {
  readonly asked: Asked[] = [];
  /** Answers instead of the model. */
  answers: ((response: ServerResponse, asked: Asked) => boolean) | undefined;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(parts).toString()) as Omit<Asked, 'key'>;
        const asked = { ...body, key: request.headers.authorization };
        this.asked.push(asked);
        if (this.answers?.(response, asked) === true) return;
        const data = body.input.map((text, index) => ({
          object: 'embedding',
          index,
          embedding: topics.map((topic, at) => (at === 3 ? 0.1 : topic.test(text) ? 1 : 0)),
        }));
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ object: 'list', data: data.toReversed(), model: body.model }));
      });
    });
  }

  static async start(): Promise<ModelUnderTest> {
    const server = createServer();
    await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
    return new ModelUnderTest(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  get texts(): readonly string[] {
    return this.asked.flatMap(({ input }) => input);
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

let up: WorkerUnderTest | undefined;
let model: ModelUnderTest | undefined;
afterEach(async () => {
  await up?.stop();
  model?.stop();
});

const tool = (name: string, description: string): object => ({ name, description, inputSchema: { type: 'object' } });
const record = (...tools: readonly object[]): Partial<CatalogRecord> => ({
  revision: latestLegacyRevision,
  lists: { ...noLists, tools: tools as CatalogRecord['lists']['tools'] },
});
const github = record(tool('create_issue', 'Opens an issue in a repository.'));
const post = record(tool('send', 'Sends a message.'));

async function started(more: object = {}): Promise<{ worker: WorkerUnderTest; model: ModelUnderTest }> {
  model = await ModelUnderTest.start();
  const searchModel = {
    url: model.url,
    name: 'tiny',
    headers: { Authorization: 'Bearer secret' },
    timeout: '10s',
    ...more,
  };
  up = await WorkerUnderTest.start(['github', 'post'], { listing: 'search', searchModel });
  await up.put('github', github);
  await up.put('post', post);
  return { worker: up, model };
}

async function metric(worker: WorkerUnderTest, name: string): Promise<number> {
  const line = (await worker.metrics.text()).split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.split(' ').at(-1) ?? 0);
}

const known = (worker: WorkerUnderTest): Promise<number> => metric(worker, 'omnibus_search_vectors{state="known"}');
const ranked = (worker: WorkerUnderTest, by: string): Promise<number> =>
  metric(worker, `omnibus_search_questions_total{ranking="${by}"}`);

async function find(client: ClientUnderTest, query: string): Promise<string> {
  const { result } = await client.ask('tools/call', { name: finderNames.find, arguments: { query } });
  return (result?.['content'] as readonly { readonly text: string }[])[0]?.text ?? '';
}

/** No tool has a word of it. */
const question = 'correspond with the landlord';

describe.each([latestLegacyRevision, latestModernRevision])('a client of %s', (revision) => {
  it('finds a tool that shares no word with its question', async () => {
    const { worker, model: asked } = await started();
    await expect.poll(() => known(worker)).toBe(2);
    const client = await worker.open(revision);
    expect((await find(client, question)).split('\n')[0]).toBe('post__send(): Sends a message.');
    expect(await ranked(worker, 'meaning')).toBe(1);
    expect(asked.asked.at(-1)).toMatchObject({ input: [question], model: 'tiny', key: 'Bearer secret' });
  });

  it('gets the answer by words when the model fails, which is asked again later', async () => {
    const { worker, model: asked } = await started();
    await expect.poll(() => known(worker)).toBe(2);
    asked.answers = (response) => response.writeHead(500).end() !== undefined;
    const client = await worker.open(revision);
    for (let turn = 0; turn < 3; turn += 1) expect(await find(client, question)).toContain('Nothing fits');
    expect(await find(client, 'send a message')).toBe('post__send(): Sends a message.');
    // The fourth is a plain text, which it does not answer either.
    await expect.poll(() => metric(worker, 'omnibus_search_model_failures_total')).toBe(4);
    expect(asked.asked.filter(({ input }) => input.includes(question))).toHaveLength(3);
    asked.answers = undefined;
    worker.turn(30_000);
    await expect.poll(() => asked.asked.at(-1)?.input).toEqual(['tool']);
    await expect.poll(() => find(client, question)).toContain('post__send');
  });

  it('gets the answer by words when the model has not answered within the time limit', async () => {
    const { worker, model: asked } = await started({ timeout: '1ms' });
    await expect.poll(() => known(worker)).toBe(2);
    asked.answers = () => true;
    expect(await find(await worker.open(revision), 'send a message')).toBe('post__send(): Sends a message.');
    expect(await ranked(worker, 'words')).toBe(1);
  });
});

it('the model reads the text of a tool once, and again only when it changes', async () => {
  const { worker, model: asked } = await started();
  await expect.poll(() => known(worker)).toBe(2);
  await worker.put('github', { ...github });
  await worker.put('post', record(tool('send', 'Sends mail.'), tool('read', 'Reads a file.')));
  await expect.poll(() => known(worker)).toBe(4);
  const parts = (server: string, name: string, text: string): readonly string[] => [
    `${server} ${name}: ${text}`,
    `${name}: ${text}`,
    `${name}: `,
  ];
  expect(asked.texts.toSorted()).toEqual(
    [
      ...parts('github', 'create issue', 'Opens an issue in a repository.'),
      ...parts('post', 'read', 'Reads a file.'),
      ...parts('post', 'send', 'Sends a message.'),
      ...parts('post', 'send', 'Sends mail.'),
    ].toSorted(),
  );
});

it.each([
  ['no JSON', 'nonsense'],
  ['no vectors', '{}'],
  ['too few vectors', '{"data":[]}'],
  ['a vector of words', '{"data":[{"embedding":["a"]},{"embedding":["b"]}]}'],
  ['vectors without a direction', '{"data":[{"embedding":[0,0]},{"embedding":[0,0]}]}'],
  ['vectors of two lengths', '{"data":[{"embedding":[1]},{"embedding":[1,2]}]}'],
  ['more bytes than an answer may have', 'x'.repeat(5_000_000)],
])('a model that answers with %s is not used', async (_what, body) => {
  model = await ModelUnderTest.start();
  model.answers = (response) => response.end(body) !== undefined;
  up = await WorkerUnderTest.start(['post'], { listing: 'search', searchModel: { url: model.url } });
  const worker = up;
  await up.put('post', record(tool('send', 'Sends a message.'), tool('read', 'Reads mail.')));
  await expect.poll(() => metric(worker, 'omnibus_search_model_failures_total')).toBeGreaterThan(0);
  const client = await worker.open(latestModernRevision);
  expect(await find(client, 'send')).toContain('Sends a message.');
  expect(await find(client, 'landlord')).toContain('Nothing fits');
});

describe('a text that the model refuses', () => {
  const refuses = (response: ServerResponse, { input }: Asked): boolean => {
    const isRefused = input.some((text) => text.includes('too long'));
    if (isRefused) response.writeHead(413).end();
    return isRefused;
  };

  it('of a tool leaves that tool without a vector, and no other', async () => {
    const { worker, model: refusing } = await started();
    refusing.answers = refuses;
    await worker.put('github', record(tool('create_issue', 'Opens an issue.'), tool('odd', 'Is too long.')));
    await worker.put('post', record(tool('send', 'Sends a message to a person.')));
    await expect.poll(() => metric(worker, 'omnibus_search_vectors{state="wanted"}')).toBe(0);
    const client = await worker.open(latestLegacyRevision);
    expect((await find(client, question)).split('\n')[0]).toBe('post__send(): Sends a message to a person.');
    expect(await ranked(worker, 'meaning')).toBe(1);
  });

  it('of one caller has questions of no other ranked by words', async () => {
    const { worker, model: refusing } = await started();
    refusing.answers = refuses;
    await expect.poll(() => known(worker)).toBe(2);
    const client = await worker.open(latestLegacyRevision);
    for (let count = 0; count < 6; count += 1) await find(client, 'this question is too long');
    await expect.poll(() => find(client, question)).toBe('post__send(): Sends a message.');
    expect(await ranked(worker, 'meaning')).toBe(1);
  });
});
