/** Questions of servers to the user of a command (elicitation, sampling): answered by `--answer`, else asked on the terminal, else declined. */
import { inTurn } from '@omnibus/lifecycle';
import { isObject, printable, type JsonObject } from '@omnibus/protocol';
import { ask, confirm, isInteractive, paint, type InputOptions } from '../output/terminal.ts';
import { notice, textOf } from '../output/outcome.ts';
import { readValue } from './arguments.ts';
import { choicesOf } from './choices.ts';

export interface QuestionOptions extends InputOptions {
  /** Answers, each as `key=value`. */
  readonly answer?: readonly string[];
}

export class Questions {
  readonly #options: QuestionOptions;
  /** Messages of the questions that were declined without a terminal. */
  readonly declined: string[] = [];
  /** Questions are asked one after the other, since there is one terminal. */
  readonly #next = inTurn();

  constructor(options: QuestionOptions) {
    this.#options = options;
  }

  readonly answer = async (method: string, params: JsonObject): Promise<JsonObject> => {
    if (method === 'roots/list') return { roots: [] };
    const isForModel = method === 'sampling/createMessage';
    if (!isForModel && method !== 'elicitation/create') throw new Error('this client does not serve that method');
    return this.#next(() => (isForModel ? this.#sample(params) : this.#elicit(params)));
  };

  async #elicit(params: JsonObject): Promise<JsonObject> {
    const message = printable(textOf(params['message'] ?? ''), 2_000);
    const { url } = params;
    if (typeof url === 'string') return this.#visit(message, url);
    const schema = isObject(params['requestedSchema']) ? params['requestedSchema'] : {};
    const fields = Object.entries(isObject(schema['properties']) ? schema['properties'] : {}).map(
      ([name, field]) => [name, isObject(field) ? field : {}] as const,
    );
    const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
    const given = this.#given;
    const content: Record<string, unknown> = {};
    for (const [name, field] of fields)
      if (given.has(name)) content[name] = readValue(given.get(name) as string, field, name);
    const isWhole = given.size > 0 && fields.every(([name]) => !required.has(name) || Object.hasOwn(content, name));
    if (isWhole) return { action: 'accept', content };
    if (!isInteractive(this.#options))
      return this.#decline(message, `answer with ${fields.map(([name]) => `--answer ${name}=…`).join(' ')}`);
    notice(`${paint('bold', 'A server asks:', process.stderr)} ${message}`);
    for (const [name, field] of fields) {
      if (!Object.hasOwn(content, name)) await askField(content, name, field, required.has(name));
    }
    return (await confirm('Send this?', true)) ? { action: 'accept', content } : { action: 'decline' };
  }

  /** The answers of `--answer`, by their keys. */
  get #given(): ReadonlyMap<string, string> {
    return new Map(
      (this.#options.answer ?? []).map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]),
    );
  }

  /** The user writes the answer of the model. @throws {Error} for the server, if there is none. */
  async #sample({ systemPrompt, messages }: JsonObject): Promise<JsonObject> {
    const asked = [systemPrompt, ...(Array.isArray(messages) ? messages.map(contentOf) : [])]
      .filter((each) => each !== undefined)
      .map((each) => printable(textOf(each), 2_000));
    let text = this.#given.get('model');
    if (text === undefined && isInteractive(this.#options)) {
      notice(
        `${paint('bold', 'A server asks a model:', process.stderr)} ${asked.join('\n  ')}\n  You can write the answer of the model.`,
      );
      text = await ask('  Answer (empty refuses):');
    } else if (text === undefined) this.#decline(asked.join(' '), 'answer in place of a model with --answer model=…');
    if (text === undefined || text === '') throw new Error('the user gave no answer of a model');
    return {
      role: 'assistant',
      model: 'the user of a command',
      stopReason: 'endTurn',
      content: { type: 'text', text },
    };
  }

  async #visit(message: string, url: string): Promise<JsonObject> {
    const host = URL.canParse(url) ? new URL(url).host : 'no address';
    if (!isInteractive(this.#options))
      return this.#decline(message, `it wants this address opened: ${printable(url, 2_000)}`);
    notice(
      `${paint('bold', 'A server asks:', process.stderr)} ${message}\n  ${printable(url, 2_000)}\n  at ${paint('bold', host, process.stderr)}`,
    );
    return { action: (await confirm('Have you opened it, or will you?', false)) ? 'accept' : 'decline' };
  }

  #decline(message: string, advice: string): JsonObject {
    this.declined.push(message);
    notice(
      `omnibus: a server asks its user something, and there is no terminal to ask on: ${message}\n    ${printable(advice, 2_000)}`,
    );
    return { action: 'decline' };
  }
}

/** The texts of a message for a model, and other content as JSON. */
function contentOf(message: unknown): string {
  const content = isObject(message) ? message['content'] : undefined;
  return [content]
    .flat()
    .map((block) => textOf(isObject(block) && typeof block['text'] === 'string' ? block['text'] : block))
    .join(' ');
}

/** Asks for one field of a form and stores the answer in `content`; asks again until the answer fits, or an optional field is left empty. */
export async function askField(
  content: Record<string, unknown>,
  name: string,
  field: JsonObject,
  isRequired: boolean,
): Promise<void> {
  const { title, description, type, default: fallback } = field;
  const choices = choicesOf(field);
  if (typeof description === 'string') notice(`  ${printable(description, 500)}`);
  if (choices.length > 0) notice(`  one of: ${choices.map((each) => printable(each)).join(', ')}`);
  const shownName = printable(typeof title === 'string' ? title : name, 100);
  for (;;) {
    const said =
      type === 'boolean'
        ? String(await confirm(`  ${shownName}?`, fallback === true))
        : await ask(
            `  ${shownName}${isRequired ? '' : ' (may be empty)'}:`,
            fallback === undefined ? undefined : textOf(fallback),
          );
    if (said === '' && !isRequired) return;
    try {
      content[name] = readValue(said, field, name);
      return;
    } catch (error) {
      notice(`  ${(error as Error).message}`);
    }
  }
}
