/**
 * The rank of tools by meaning: similarity of vectors that an embedding model makes of tools and questions. It is added to the rank by words. Every figure comes
 * from the tools in one list, so a tool that is not in it has no influence on an answer.
 */
import { parametersOf, type SearchableTool } from './fields.ts';
import { clausesOf, splitName } from './words.ts';

/** A vector of length 1, in one byte a dimension: `values` times `scale`. */
export interface PackedVector {
  readonly values: Int8Array;
  readonly scale: number;
}

/** Bound on the texts of one question: itself, and its first clauses. */
export const maxClauses = 12;
/** Characters of a description that a model reads: the models that this is for read 256 tokens. */
const maxDescription = 600;
const maxParameters = 20;
const maxParameterText = 80;
const maxSentence = 200;
const most = 127;

/** Stands between the parts of the text of a tool; no part has it. */
const partEnd = '\0';
const maxParts = 3;

/**
 * The text of a tool for `toolVectors`, in parts: all of it, its name with the first sentence of its description, and its name with its parameters. A model of few
 * dimensions says more of a short text than of a long one.
 */
export function toolText({ server, name, description = '', inputSchema }: SearchableTool): string {
  const said = description.slice(0, maxDescription).replaceAll(partEnd, ' ');
  const own = splitName(name);
  const parameters = parametersOf(inputSchema).slice(0, maxParameters);
  const names = parameters.map(([parameter]) => splitName(parameter.slice(0, maxParameterText)));
  const described = parameters.map(([parameter, text], at) =>
    `${names[at] ?? parameter} ${text.slice(0, maxParameterText)}`.trim(),
  );
  const whole = `${splitName(server)} ${own}: ${said}`;
  return [
    names.length === 0 ? whole : `${whole}. ${names.join(', ')}`,
    `${own}: ${(/^.*?(?:[.!?](?=\s)|$)/m.exec(said.trim())?.[0] ?? '').slice(0, maxSentence)}`,
    `${own}: ${described.join(', ')}`,
  ]
    .map((part) => part.replaceAll(partEnd, ' '))
    .join(partEnd);
}

/**
 * The vector of each tool: the mean of those of the parts of its text.
 * @param model an `EmbeddingModel`. @param texts of `toolText`.
 * @throws {Error} of the model.
 */
export async function toolVectors(
  model: {
    readonly batch: number;
    embed(texts: readonly string[], signal: AbortSignal): Promise<readonly PackedVector[]>;
  },
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly (PackedVector | undefined)[]> {
  const parts = texts.map((text) => text.split(partEnd, maxParts));
  const all = parts.flat();
  const vectors: PackedVector[] = [];
  for (let at = 0; at < all.length; at += model.batch)
    vectors.push(...(await model.embed(all.slice(at, at + model.batch), signal)));
  let next = 0;
  return parts.map(({ length }) => meanOf(vectors.slice(next, (next += length))));
}

/** The mean of vectors, with a length of 1. */
function meanOf(vectors: readonly PackedVector[]): PackedVector | undefined {
  const [first] = vectors;
  if (first === undefined || vectors.length === 1) return first;
  const sum = new Float64Array(first.values.length);
  for (const { values, scale } of vectors)
    for (let at = 0; at < sum.length; at += 1) sum[at] = (sum[at] as number) + (values[at] ?? 0) * scale;
  return packed(sum);
}

/** The texts of a question for a model: the whole, and each of its sentences if it has several. */
export function questionTexts(query: string): readonly string[] {
  const clauses = clausesOf(query).slice(0, maxClauses);
  return (clauses.length > 1 ? [query, ...clauses] : [query]).map(withoutPaths);
}

/** Letters and digits of the scripts that put spaces between words. A path may follow a letter of another script at once. */
const letters = String.raw`\w\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}`;
const name = String.raw`[${letters}@+\-]+`;
/** A path of Unix or Windows that is no part of an address. A full stop behind it ends the sentence. */
const path = new RegExp(
  String.raw`(?<![${letters}:/\\.}%])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\]\.?${name}(?:\.${name})*)+[/\\]?`,
  'gu',
);

/**
 * A question with the kinds of files in place of their paths: `save it in /root/reports/june.md` is `save it in a file .md`. A path is an argument.
 * A model takes the folders and the name in it for the subject of the question. One word behind a slash may be a command, and stays.
 */
function withoutPaths(text: string): string {
  return text.replaceAll(path, (found) => {
    const kind = /\.[A-Za-z][A-Za-z\d]{0,4}$/.exec(found)?.[0];
    if (kind !== undefined) return `a file ${kind}`;
    return /^[/\\][^/\\]*$/.test(found) ? found : 'a folder';
  });
}

/** Packs a vector of any length. @returns undefined if it has no direction: zeros, or a number that is not finite. */
export function packed(vector: ArrayLike<number>): PackedVector | undefined {
  const plain = Float64Array.from(vector);
  const length = Math.hypot(...plain);
  if (!Number.isFinite(length) || length === 0) return undefined;
  const largest = plain.reduce((sum, each) => Math.max(sum, Math.abs(each)), 0);
  return {
    values: Int8Array.from(plain, (each) => Math.round((each / largest) * most)),
    scale: largest / most / length,
  };
}

function similarity(one: PackedVector, other: PackedVector): number {
  const { values } = one;
  const { values: others } = other;
  let sum = 0;
  for (let at = 0; at < values.length; at += 1) sum += (values[at] as number) * (others[at] as number);
  return sum * one.scale * other.scale;
}

/** The vectors of a list of tools, and of their servers: the mean of the tools of each. */
export class ToolVectors {
  /** Of how many tools there is a vector. */
  readonly known: number;
  readonly #vectors: readonly (PackedVector | undefined)[];
  readonly #serverOf: readonly number[];
  readonly #servers: readonly (PackedVector | undefined)[];

  /**
   * @param servers the server of each tool.
   * @param vectors of each tool, all of one model; undefined while it is not known.
   */
  constructor(servers: readonly string[], vectors: readonly (PackedVector | undefined)[]) {
    const numbers = new Map<string, number>();
    this.#serverOf = servers.map((server) => {
      const number = numbers.get(server) ?? numbers.size;
      numbers.set(server, number);
      return number;
    });
    this.#vectors = vectors;
    this.known = vectors.filter((each) => each !== undefined).length;
    this.#servers = numbers.size === 1 ? [] : meansOf(vectors, this.#serverOf, numbers.size);
  }

  /** How well each tool fits by meaning, from 0 for at most the average to 1 for the best. Without a vector it is NaN. */
  fits(question: PackedVector): { readonly tools: Float64Array; readonly servers: Float64Array | undefined } {
    const servers = this.#servers.length === 0 ? undefined : spread(this.#servers, question);
    return {
      tools: spread(this.#vectors, question),
      servers: servers === undefined ? undefined : Float64Array.from(this.#serverOf, (at) => servers[at] as number),
    };
  }
}

function meansOf(
  vectors: readonly (PackedVector | undefined)[],
  serverOf: readonly number[],
  count: number,
): readonly (PackedVector | undefined)[] {
  const sums: (Float64Array | undefined)[] = Array.from({ length: count });
  vectors.forEach((vector, tool) => {
    if (vector === undefined) return;
    const { values, scale } = vector;
    const server = serverOf[tool] as number;
    const sum = sums[server] ?? new Float64Array(values.length);
    sums[server] = sum;
    for (let at = 0; at < sum.length; at += 1) sum[at] = (sum[at] as number) + (values[at] as number) * scale;
  });
  return sums.map((sum) => (sum === undefined ? undefined : packed(sum)));
}

function spread(vectors: readonly (PackedVector | undefined)[], question: PackedVector): Float64Array {
  const found = Float64Array.from(vectors, (each) => (each === undefined ? Number.NaN : similarity(each, question)));
  let sum = 0;
  let count = 0;
  let best = -1;
  for (const each of found)
    if (!Number.isNaN(each)) {
      sum += each;
      count += 1;
      if (each > best) best = each;
    }
  const average = sum / count;
  return found.map((each) => (best > average ? Math.max(0, (each - average) / (best - average)) : each - each));
}
