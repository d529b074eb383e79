/** Values for the inputs of `server.json`: those of `--set`, of a person at a terminal, and those that the publisher presets. */
import { CommandProblem } from '@omnibus/client';
import { printable } from '@omnibus/protocol';
import { ask } from '../output/terminal.ts';
import { checkJoined, literal } from './literal.ts';
import type { Argument, Input } from './server-json.ts';

export class Answers {
  readonly #given: ReadonlyMap<string, readonly string[]>;
  readonly #isAsking: boolean;
  readonly #used = new Set<string>();
  readonly #missing: Input[] = [];
  readonly #secrets = new Set<string>();
  /** Secrets of the present text whose given values are no references. */
  readonly #plain = new Set<string>();
  /** Such secrets in addresses and arguments, which no file of secrets can have. */
  readonly #open = new Set<string>();

  /** @param pairs of `--set`: NAME=value; a name may stand there several times. @param isAsking whether a person can be asked. */
  constructor(pairs: readonly string[], isAsking: boolean) {
    const given = new Map<string, string[]>();
    for (const pair of pairs) {
      const at = pair.indexOf('=');
      if (at < 1) throw new CommandProblem('usage', `--set: expected "NAME=value", not ${JSON.stringify(pair)}`);
      const name = pair.slice(0, at);
      given.set(name, [...(given.get(name) ?? []), pair.slice(at + 1)]);
    }
    this.#given = given;
    this.#isAsking = isAsking;
  }

  /** Names of environment variables and headers with secret values. */
  get secrets(): ReadonlySet<string> {
    return this.#secrets;
  }

  /** @throws {CommandProblem} for a value that is missing, for one that fits nothing, and for a secret that would stay in the configuration. */
  check(): void {
    if (this.#missing.length > 0)
      throw new CommandProblem(
        'usage',
        `the server needs ${this.#missing.map(({ name, description }) => printable(`${name}${description === undefined ? '' : ` (${description})`}`, 300)).join(', ')}`,
        {
          advice: `Give ${this.#missing.map(({ name, isSecret }) => `--set ${printable(name, 100)}=${isSecret ? "'${VARIABLE}'" : 'VALUE'}`).join(' ')}`,
        },
      );
    const strange = [...this.#given.keys()].filter((name) => !this.#used.has(name));
    if (strange.length > 0)
      throw new CommandProblem(
        'usage',
        `the server has nothing named ${strange.map((name) => JSON.stringify(name)).join(', ')}`,
      );
    for (const name of this.#open)
      throw new CommandProblem(
        'usage',
        `${printable(name, 100)} is a secret, and its value would stay in the configuration for all to read`,
        { advice: `Name an environment variable that has it: --set ${printable(name, 100)}='\${VARIABLE}'` },
      );
  }

  /** The value of an environment variable or a header. @returns undefined for an input that is left out. */
  async value(input: Input): Promise<string | undefined> {
    const found = await this.#valueOf(input);
    this.#plain.clear();
    return found;
  }

  /** The values of an argument: none where it is left out, several where it may be repeated. */
  async values(input: Argument): Promise<readonly string[]> {
    const found = await this.#valuesOf(input);
    for (const name of this.#plain) this.#open.add(name);
    return found;
  }

  /** An address with values for its variables. */
  async fill(text: string, variables: readonly Input[]): Promise<string> {
    const filled = await this.#fillOptional(text, { variables, isRequired: true });
    for (const name of this.#plain) this.#open.add(name);
    return filled ?? '';
  }

  async #valueOf(input: Input): Promise<string | undefined> {
    const [first] = await this.#valuesOf({ ...input, isNamed: false, isRepeated: false });
    return first;
  }

  async #valuesOf(input: Argument): Promise<readonly string[]> {
    if (hasSecret(input)) this.#secrets.add(input.name);
    if (input.value !== undefined) {
      const filled = await this.#fillOptional(input.value, input);
      return filled === undefined ? [] : [filled];
    }
    const given = this.#take(input);
    if (given.length > 0) return input.isRepeated ? given : given.slice(0, 1);
    const asked = await this.#asked(input);
    return asked === undefined ? [] : [asked];
  }

  /** @returns undefined if a variable of an input that is not required has no value. */
  async #fillOptional(
    text: string,
    { variables, isRequired }: Pick<Input, 'variables' | 'isRequired'>,
  ): Promise<string | undefined> {
    let filled = literal(text);
    const parts: string[] = [];
    for (const variable of variables) {
      if (!filled.includes(`{${variable.name}}`)) continue;
      const value = await this.#valueOf(isRequired ? { ...variable, isRequired: true } : variable);
      if (value === undefined) return undefined;
      parts.push(value);
      filled = filled.replaceAll(`{${variable.name}}`, () => value);
    }
    checkJoined(filled, parts);
    return filled;
  }

  #take({ name, choices, isSecret }: Input): readonly string[] {
    const key = [name, name.replace(/^-+/, '')].find((each) => this.#given.has(each));
    if (key === undefined) return [];
    this.#used.add(key);
    const given = this.#given.get(key) as readonly string[];
    const wrong = choices.length === 0 ? undefined : given.find((each) => !choices.includes(each));
    if (wrong !== undefined)
      throw new CommandProblem('usage', `${JSON.stringify(wrong)} is no value of ${printable(name, 100)}`, {
        advice: `It can be ${printable(choices.join(', '), 300)}.`,
      });
    if (isSecret) for (const each of given) this.#notePlain(name, each);
    return given;
  }

  async #asked(input: Input): Promise<string | undefined> {
    const { name, description, isRequired, isSecret, preset, choices } = input;
    // The publisher must not choose which variable of this machine its server gets, so no secret is taken by its name.
    const fallback = preset === undefined || isSecret ? undefined : literal(preset);
    if (!isRequired) return fallback;
    if (!this.#isAsking) {
      if (fallback === undefined) this.#missing.push(input);
      return fallback;
    }
    const hint = isSecret ? ["(secret: '${VARIABLE}' names an environment variable)"] : [];
    const words = [description ?? name, ...(choices.length === 0 ? [] : [`(${choices.join(', ')})`]), ...hint].join(
      ' ',
    );
    const said = await ask(`${printable(name, 100)}: ${printable(words, 300)}`, fallback);
    if (isSecret) this.#notePlain(name, said);
    if (said !== '') return said;
    this.#missing.push(input);
    return undefined;
  }

  #notePlain(name: string, value: string): void {
    if (value !== '' && !value.replaceAll('$${', '').includes('${')) this.#plain.add(name);
  }
}

function hasSecret({ isSecret, variables }: Input): boolean {
  return isSecret || variables.some(hasSecret);
}
