import { describe, expect, it } from 'vitest';
import type { CallCommand, ExchangeOutcome, JsonObject, QuestionMethod, ToolEntry } from '@omnibus/protocol';
import { parseServerName } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { SchemaChecks, type ValidationMode } from './schema-checks.ts';

const add = {
  name: 'add',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
} as unknown as ToolEntry;

const greet = { name: 'greet', arguments: [{ name: 'who', required: true }, { name: 'how' }] };
const open = { name: 'open' };

async function checks(mode: ValidationMode, tool: ToolEntry = add) {
  const counted: string[] = [];
  const made = new SchemaChecks({
    mode,
    server: parseServerName('math'),
    prompt: (name) => [greet, open].find((entry) => entry.name === name),
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: { schemaProblem: (_server, what) => void counted.push(what) },
  });
  await made.start();
  const of = ({ command }: { readonly command: CallCommand }) => ({
    command,
    tool: command.method === 'tools/call' && command.params['name'] === tool.name ? tool : undefined,
  });
  return {
    counted,
    made: {
      before: (given: { readonly command: CallCommand }) => made.before(of(given)),
      outcome: (given: { readonly command: CallCommand }, outcome: ExchangeOutcome) => made.outcome(of(given), outcome),
      answer: made.answer.bind(made),
      questionRefusal: made.questionRefusal.bind(made),
    },
  };
}

const call = (args: JsonObject | undefined, name = 'add') =>
  ({ method: 'tools/call', params: { name, arguments: args }, context: {} }) as unknown as CallCommand;
const result = (more: JsonObject): ExchangeOutcome => ({ kind: 'result', result: { content: [], ...more } });

describe('what goes to a server and comes from it, held against its schemas', () => {
  it('arguments that do not fit are refused as an error of the tool that names the member, where that is enforced', async () => {
    const { made, counted } = await checks('enforce');
    expect(made.before({ command: call({ a: 1, b: 2 }) })).toBeUndefined();
    expect(made.before({ command: call({ a: 1, b: 'two' }) })).toMatchObject({
      kind: 'result',
      result: { isError: true, content: [{ text: expect.stringContaining('b must be number') as string }] },
    });
    expect(made.before({ command: call(undefined) })).toMatchObject({ result: { isError: true } });
    expect(made.before({ command: call({ anything: true }, 'unknown') })).toBeUndefined();
    expect(counted).toEqual(['arguments', 'arguments']);
  });

  it('by default what does not fit is counted and passed on', async () => {
    const { made, counted } = await checks('warn');
    expect(made.before({ command: call({ a: 'one' }) })).toBeUndefined();
    const bad = result({ structuredContent: { sum: 'three' } });
    expect(made.outcome({ command: call({}) }, bad)).toBe(bad);
    expect(counted).toEqual(['arguments', 'result']);
  });

  it('nothing is looked at where it is off', async () => {
    const { made, counted } = await checks('off');
    expect(made.before({ command: call({ a: 'one' }) })).toBeUndefined();
    expect(counted).toEqual([]);
  });

  it("a result that is not what the server promised is the server's fault; errors of tools, tasks and questions are not held against it", async () => {
    const { made } = await checks('enforce');
    expect(made.outcome({ command: call({}) }, result({ structuredContent: { sum: 'three' } }))).toMatchObject({
      kind: 'fault',
      fault: { reason: 'upstream.invalid' },
    });
    expect(made.outcome({ command: call({}) }, result({}))).toMatchObject({ kind: 'fault' });
    for (const fine of [
      result({ structuredContent: { sum: 3 } }),
      result({ isError: true }),
      result({ task: {} }),
      result({ resultType: 'input_required' }),
    ])
      expect(made.outcome({ command: call({}) }, fine)).toBe(fine);
  });

  it('answers of clients are held against what was asked', async () => {
    const { made } = await checks('enforce');
    const form = { requestedSchema: { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] } };
    const fits = { result: { action: 'accept', content: { age: 36 } } };
    expect(made.answer('elicitation/create', form, fits)).toBe(fits);
    expect(
      made.answer('elicitation/create', form, { result: { action: 'accept', content: { age: 'old' } } }),
    ).toMatchObject({ error: { code: -32_602, message: expect.stringContaining('age must be integer') as string } });
    const declined = { result: { action: 'decline' } };
    expect(made.answer('elicitation/create', form, declined)).toBe(declined);
    expect(made.answer('sampling/createMessage', {}, { result: { role: 'assistant' } })).toMatchObject({
      error: { code: -32_602 },
    });
    expect(made.answer('roots/list', {}, { result: { roots: [{ name: 'no address' }] } })).toMatchObject({
      error: { code: -32_602 },
    });
  });

  it.each([
    ['all that are required', { who: 'Ada' }, undefined],
    ['all there are', { who: 'Ada', how: 'warmly' }, undefined],
    ['none', undefined, "must have required property 'who'"],
    ['one nobody knows', { who: 'Ada', whom: 'Bob' }, '"whom"'],
    ['one that is no text', { who: 7 }, 'who must be string'],
  ])('arguments of a prompt are held against what it lists: %s', async (_what, args, problem) => {
    const ask = (name: string): CallCommand =>
      ({
        method: 'prompts/get',
        params: { name, ...(args === undefined ? {} : { arguments: args }) },
        context: {},
      }) as unknown as CallCommand;
    const { made } = await checks('enforce');
    const refusal = made.before({ command: ask('greet') });
    if (problem === undefined) expect(refusal).toBeUndefined();
    else
      expect(refusal).toMatchObject({
        kind: 'fault',
        fault: { reason: 'params.invalid', message: expect.stringContaining(problem) as string },
      });
    expect(made.before({ command: ask('open') })).toBeUndefined();
    const lenient = await checks('warn');
    expect(lenient.made.before({ command: ask('greet') })).toBeUndefined();
    expect(lenient.counted).toEqual(problem === undefined ? [] : ['arguments']);
  });

  const text = { type: 'text', text: 'x' };
  const use = (name: string): JsonObject => ({ type: 'tool_use', id: '1', name, input: {} });
  it.each<[string, JsonObject, JsonObject, string | undefined]>([
    ['a text', {}, { content: text }, undefined],
    ['several blocks', {}, { content: [text, { type: 'image', data: 'AA==', mimeType: 'image/png' }] }, undefined],
    ['a kind nobody knows yet', {}, { content: { type: 'hologram' } }, undefined],
    ['a text without text', {}, { content: { type: 'text' } }, "content must have required property 'text'"],
    ['the use of a tool it was given', { tools: [{ name: 'look' }] }, { content: [use('look')] }, undefined],
    [
      'the use of a tool it was not given',
      { tools: [{ name: 'look' }] },
      { content: [use('delete')] },
      'name must be equal to one of the allowed values: ["look"]',
    ],
    ['the use of a tool although it was given none', {}, { content: use('delete') }, 'content.name'],
  ])('an answer to sampling is held against what was asked: %s', async (_what, asked, answered, problem) => {
    const { made } = await checks('enforce');
    const answer = { result: { role: 'assistant', model: 'm', ...answered } };
    const given = made.answer('sampling/createMessage', asked, answer);
    if (problem === undefined) expect(given).toBe(answer);
    else expect(given).toMatchObject({ error: { code: -32_602, message: expect.stringContaining(problem) as string } });
  });

  const form = {
    method: 'elicitation/create',
    params: {
      message: 'How old?',
      requestedSchema: { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] },
    },
  };
  const alone = (method: string, params: JsonObject): CallCommand =>
    ({ method, params, context: { standsAlone: true, principal: 'anonymous' } }) as unknown as CallCommand;

  it.each<[string, CallCommand, JsonObject, JsonObject]>([
    [
      'with a state',
      alone('tools/call', { name: 'ask', arguments: {} }),
      { resultType: 'input_required', requestState: 'a' },
      { name: 'ask', arguments: {}, requestState: 'a' },
    ],
    [
      'without one',
      alone('tools/call', { name: 'ask', arguments: { about: 1 } }),
      { resultType: 'input_required' },
      { name: 'ask', arguments: { about: 1 } },
    ],
    ['of a prompt', alone('prompts/get', { name: 'open' }), { resultType: 'input_required' }, { name: 'open' }],
  ])(
    'answers that come with the next request are held against what was asked: %s',
    async (_what, first, asked, next) => {
      const { made, counted } = await checks('enforce');
      made.outcome(
        { command: first },
        {
          kind: 'result',
          result: { ...asked, inputRequests: { age: form, roots: { method: 'roots/list' } } },
        },
      );
      const back = (age: unknown): CallCommand =>
        alone(first.method, { ...next, inputResponses: { age: { action: 'accept', content: { age } }, unknown: 7 } });
      expect(made.before({ command: back(36) })).toBeUndefined();
      expect(made.before({ command: back('old') })).toMatchObject({
        kind: 'fault',
        fault: { reason: 'params.invalid', message: expect.stringContaining('params.inputResponses.age') as string },
      });
      expect(counted).toEqual(['answer']);
      const { made: other } = await checks('enforce');
      expect(other.before({ command: back('old') })).toBeUndefined();
    },
  );

  it('answers to a task are held against what it asked, and by default passed on', async () => {
    const { made, counted } = await checks('warn');
    made.outcome(
      { command: alone('tasks/get', { taskId: 'one' }) },
      {
        kind: 'result',
        result: { status: 'input_required', inputRequests: { age: form } },
      },
    );
    const update = (taskId: string): CallCommand =>
      alone('tasks/update', { taskId, inputResponses: { age: { action: 'accept', content: {} } } });
    expect([made.before({ command: update('one') }), made.before({ command: update('another') })]).toEqual([
      undefined,
      undefined,
    ]);
    expect(counted).toEqual(['answer']);
  });

  it('an answer to an elicitation says what the user did, whatever was asked', async () => {
    const { made } = await checks('enforce');
    for (const asked of [{ mode: 'url', url: 'https://example.com' }, { requestedSchema: { type: 'object' } }]) {
      for (const result of [{}, { action: 'agree' }])
        expect(made.answer('elicitation/create', asked, { result })).toMatchObject({
          error: { message: expect.stringContaining('action') as string },
        });
      const accepted = { result: { action: 'accept', ...('url' in asked ? {} : { content: {} }) } };
      expect(made.answer('elicitation/create', asked, accepted)).toBe(accepted);
    }
  });

  it('a schema that cannot be used stops nobody', async () => {
    const { made, counted } = await checks('enforce', {
      name: 'add',
      inputSchema: { type: 'object', $ref: 'http://127.0.0.1:1/' },
    } as unknown as ToolEntry);
    expect(made.before({ command: call({ a: 'anything' }) })).toBeUndefined();
    expect(counted).toEqual([]);
  });
});

describe('the shapes of results and questions', () => {
  const asked = (method: string): CallCommand =>
    ({ method, params: { name: 'other', uri: 'x://y' }, context: {} }) as unknown as CallCommand;
  const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
  const text = { type: 'text', text: 'x' };

  it.each<[string, JsonObject, string]>([
    ['tools/call', {}, 'content must be an array'],
    ['tools/call', { content: 'x' }, 'content must be an array'],
    ['tools/call', { content: [text, { type: 'text' }] }, 'content[1].text must be a string'],
    ['tools/call', { content: [{ type: 'hologram' }] }, 'content[0].type must be the name of a kind of content'],
    ['tools/call', { content: [{ type: 'image', data: 'AA==' }] }, 'content[0].mimeType must be a string'],
    ['tools/call', { content: [{ type: 'resource', resource: { uri: 'x://y' } }] }, 'content[0].resource must have'],
    ['tools/call', { content: [{ type: 'resource_link', uri: 'x://y' }] }, 'content[0].name must be a string'],
    ['tools/call', { content: [], isError: 'yes' }, 'isError must be true or false'],
    ['tools/call', { content: [], structuredContent: 7 }, 'structuredContent must be an object'],
    ['tasks/result', { content: 'x' }, 'content must be an array'],
    ['prompts/get', { messages: {} }, 'messages must be an array'],
    ['prompts/get', { messages: [{ role: 'system', content: text }] }, 'messages[0].role must be'],
    ['prompts/get', { messages: [{ role: 'user', content: [text] }] }, 'messages[0].content must be an object'],
    ['resources/read', { contents: [{ text: 'x' }] }, 'contents[0].uri must be a string'],
    ['resources/read', { contents: [{ uri: 'x://y', blob: 7 }] }, 'contents[0] must have a string'],
    ['completion/complete', { completion: { values: [7] } }, 'completion.values[0] must be a string'],
    [
      'tools/call',
      { resultType: 'input_required', inputRequests: { a: { method: 'sampling/createMessage', params: { foo: 1 } } } },
      'sampling/createMessage in inputRequests: maxTokens must be a number',
    ],
  ])(
    'a result of %s like %j is refused where that is enforced, and counted elsewhere',
    async (method, odd, problem) => {
      const outcome: ExchangeOutcome = { kind: 'result', result: odd };
      const strict = await checks('enforce');
      expect(strict.made.outcome({ command: asked(method) }, outcome)).toMatchObject({
        kind: 'fault',
        fault: { reason: 'upstream.invalid', message: expect.stringContaining(problem) as string },
      });
      const lenient = await checks('warn');
      expect(lenient.made.outcome({ command: asked(method) }, outcome)).toBe(outcome);
      expect([strict.counted, lenient.counted]).toEqual([['result'], ['result']]);
      expect((await checks('off')).made.outcome({ command: asked(method) }, outcome)).toBe(outcome);
    },
  );

  it.each<[string, JsonObject]>([
    ['tools/call', { content: [text, { type: 'audio', data: 'AA==', mimeType: 'audio/wav' }], more: 1 }],
    ['tools/call', { content: [{ type: 'resource', resource: { uri: 'x://y', blob: 'AA==' } }] }],
    ['tools/call', { resultType: 'complete', content: [], structuredContent: 7 }],
    ['tools/call', { task: { taskId: '1' } }],
    ['tools/call', { resultType: 'input_required', inputRequests: { a: { method: 'roots/list' } } }],
    ['prompts/get', { messages: [{ role: 'assistant', content: text }] }],
    ['resources/read', { contents: [{ uri: 'x://y', text: '' }] }],
    ['completion/complete', { completion: { values: [] } }],
    ['vendor/anything', { odd: true }],
  ])('a result of %s like %j passes where shapes are enforced', async (method, fine) => {
    const { made, counted } = await checks('enforce');
    const outcome: ExchangeOutcome = { kind: 'result', result: fine };
    expect(made.outcome({ command: asked(method) }, outcome)).toBe(outcome);
    expect(counted).toEqual([]);
  });

  it.each<[QuestionMethod, JsonObject, string | undefined]>([
    ['sampling/createMessage', { foo: 1 }, 'maxTokens must be a number'],
    ['sampling/createMessage', { maxTokens: 1, messages: [{ role: 'user' }] }, 'messages[0].content must be an object'],
    [
      'sampling/createMessage',
      { maxTokens: 1, messages: [{ role: 'user', content: [{}] }] },
      'messages[0].content.type',
    ],
    ['sampling/createMessage', { maxTokens: 1, messages: [{ role: 'user', content: [text] }] }, undefined],
    ['elicitation/create', { requestedSchema: {} }, 'message must be a string'],
    ['elicitation/create', { message: 'Who?' }, 'requestedSchema must be an object'],
    ['elicitation/create', { message: 'Who?', requestedSchema: {} }, 'requestedSchema must have'],
    ['elicitation/create', { message: 'Who?', mode: 'url' }, 'url must be a string'],
    ['elicitation/create', form, undefined],
    ['roots/list', {}, undefined],
  ])('the question %s with %j reaches a client only as the specification says', async (method, params, problem) => {
    const strict = await checks('enforce');
    const refusal = strict.made.questionRefusal(method, params);
    if (problem === undefined) expect(refusal).toBeUndefined();
    else
      expect(refusal).toMatchObject({
        error: { code: -32_602, message: expect.stringContaining(problem) as string },
      });
    const lenient = await checks('warn');
    expect(lenient.made.questionRefusal(method, params)).toBeUndefined();
    expect(lenient.counted).toEqual(problem === undefined ? [] : ['question']);
  });
});
