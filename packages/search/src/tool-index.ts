/**
 * An index of tools that answers questions in words. The rank is BM25F (Robertson, Zaragoza: "The Probabilistic Relevance Framework", 3.6) over fields of a tool,
 * with pairs of neighbouring terms, words that mean the same, the tool's server and the sentences of the question. Every figure of it comes from the tools
 * that are in the index, so a tool that is not in it has no influence on an answer.
 */
import { setImmediate } from 'node:timers/promises';
import { fieldCount, textsOf, type SearchableTool } from './fields.ts';
import { maxClauses, type PackedVector, type ToolVectors } from './meaning.ts';
import { alikeOf, clausesOf, termsOf } from './words.ts';

export interface Found {
  /** Place of the tool in the indexed list. */
  readonly index: number;
  /** Only for comparison with others of the same answer; the best has 1. */
  readonly score: number;
}

/** Longest question in characters; what follows is not read. */
export const maxQueryLength = 2_000;

/**
 * Weights by field, and how much a longer field lowers the weight of a term in it (`b` of BM25). They were chosen on public sets
 * (docs/explanation/finding-tools.md) over all their questions together.
 */
const weights = [1.5, 1, 0.3, 0.5, 0.2, 3, 0.3];
const byLength = [0.4, 0.75, 0.5, 0.6, 0.6, 0.3, 0.75];
/** How soon more of a term counts less. */
const k1 = 2;
/** A rare term counts for more than its information alone. */
const rarity = 1.5;
/** The weight of a synonym of a word of the question. */
const alikeWeight = 0.1;
const pairWeight = 0.3;
/** Numbers in a question are arguments more often than names. */
const numberWeight = 0.3;
/** The part of a server's fit that its tools get, and how much it counts that only few of its tools have a term. */
const serverWeight = 0.25;
const serverShare = 0.3;
/** The part of the rank that the best clause of a question decides. */
const clauseWeight = 0.3;
/** The same of a rank by words and meaning. A sentence on its own says its meaning better than it has rare words. */
const clauseWeightOfMeaning = 0.7;
/** How much the meaning of a tool counts, and that of its server, beside the best fit by words. */
const meaningWeight = 1;
const serverMeaningWeight = 0.3;

/** A question by its meaning. */
export interface Meaning {
  /** The vectors of `questionTexts`. */
  readonly question: readonly PackedVector[];
  readonly tools: ToolVectors;
}

/** The tools that have a term, and the weight of the term in each. */
interface Posting {
  readonly tools: Uint32Array;
  readonly weights: Float32Array;
}

/** The tools of a term, and of its synonyms, with the score of the term for each. */
interface Giving {
  readonly tools: Uint32Array;
  readonly scores: Float32Array;
}

export class ToolIndex {
  readonly size: number;
  /** About how many bytes it takes. */
  readonly bytes: number;
  readonly #postings: ReadonlyMap<string, Posting>;
  /** The number of each tool's server. */
  readonly #serverOf: Uint32Array;
  readonly #serverSizes: readonly number[];

  /** Makes it at once, which takes about 50 ms for 2,000 tools. */
  constructor(tools: readonly SearchableTool[], postings = atOnce(postingsOf(tools))) {
    this.size = tools.length;
    const servers = new Map<string, number>();
    const sizes: number[] = [];
    this.#serverOf = Uint32Array.from(tools, ({ server }) => {
      const number = servers.get(server) ?? servers.size;
      servers.set(server, number);
      sizes[number] = (sizes[number] ?? 0) + 1;
      return number;
    });
    this.#serverSizes = sizes;
    this.#postings = postings;
    let bytes = 0;
    for (const [term, posting] of this.#postings) bytes += 300 + 2 * term.length + 8 * posting.tools.length;
    this.bytes = bytes;
  }

  /** Makes it in steps, between which other work of the process runs. */
  static async inSteps(tools: readonly SearchableTool[]): Promise<ToolIndex> {
    const steps = postingsOf(tools);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return new ToolIndex(tools, step.value);
      await setImmediate();
    }
  }

  /**
   * The tools that fit a question best, best first; none if the question shares no word with any tool and has no meaning here.
   * @param limit how many at most.
   * @param isWanted limits the answer to some of the tools, which keep their scores among all.
   * @param meaning ranks by meaning beside words; without it, by words alone.
   */
  search(query: string, limit: number, isWanted?: (index: number) => boolean, meaning?: Meaning): readonly Found[] {
    const text = query.slice(0, maxQueryLength);
    const given = new Map<string, Giving | undefined>();
    const clauses = clausesOf(text).slice(0, maxClauses);
    const [whole, ...single] = (clauses.length > 1 ? [text, ...clauses] : [text]).map((each, at) =>
      withMeaning(this.#score(each, given), meaning, at),
    );
    const scores = whole as Float64Array;
    if (single.length > 0)
      this.#addClauses(scores, single, meaning === undefined ? clauseWeight : clauseWeightOfMeaning);
    return best(scores, limit, isWanted);
  }

  /** Lets the clause that a tool fits best count beside the whole question. */
  #addClauses(scores: Float64Array, clauses: readonly Float64Array[], weight: number): void {
    for (let tool = 0; tool < this.size; tool += 1) {
      let most = 0;
      for (const clause of clauses) if ((clause[tool] as number) > most) most = clause[tool] as number;
      scores[tool] = (1 - weight) * (scores[tool] as number) + weight * most;
    }
  }

  /** The score of each tool for a text, with 1 for the best. @param given what terms give, kept for the clauses of one question. */
  #score(text: string, given: Map<string, Giving | undefined>): Float64Array {
    const scores = new Float64Array(this.size);
    const servers = this.#serverSizes.length;
    const fits = new Float64Array(servers);
    for (const [term, weight] of wantedOf(text)) {
      let giving = given.get(term);
      if (giving === undefined && !given.has(term)) {
        giving = this.#giving(term, weight);
        given.set(term, giving);
      }
      if (giving !== undefined) this.#add(giving, scores, fits);
    }
    let most = 0;
    for (let tool = 0; tool < this.size; tool += 1) {
      const own = scores[tool] as number;
      if (own === 0) continue;
      const score = servers === 1 ? own : own + serverWeight * (fits[this.#serverOf[tool] as number] as number);
      scores[tool] = score;
      if (score > most) most = score;
    }
    return most === 0 ? scores : scores.map((score) => score / most);
  }

  /** The scores of tools for a term of a question; undefined if none has it. */
  #giving(term: string, weight: number): Giving | undefined {
    const { tools, weights: all } = this.#found(term) ?? {};
    if (tools === undefined || all === undefined) return undefined;
    const having = this.#postings.get(term)?.tools.length ?? tools.length;
    const rare = Math.log(1 + (this.size - having + 0.5) / (having + 0.5)) ** rarity * weight;
    return { tools, scores: all.map((each) => (rare * each * (k1 + 1)) / (each + k1)) };
  }

  /** The tools with a term, or with one that means the same. */
  #found(term: string): Posting | undefined {
    const exact = this.#postings.get(term);
    const more = alikeOf(term).flatMap((other) => this.#postings.get(other) ?? []);
    if (more.length === 0) return exact;
    const found = new Float32Array(this.size);
    exact?.tools.forEach((tool, at) => (found[tool] = exact.weights[at] as number));
    for (const { tools, weights: all } of more)
      tools.forEach((tool, at) => (found[tool] = Math.max(found[tool] as number, alikeWeight * (all[at] as number))));
    const tools = Uint32Array.from([...found.keys()].filter((tool) => found[tool] !== 0));
    return { tools, weights: Float32Array.from(tools, (tool) => found[tool] as number) };
  }

  /** Adds what one term of a question gives to each tool and each server. */
  #add({ tools, scores: given }: Giving, scores: Float64Array, fits: Float64Array): void {
    const isShared = fits.length > 1;
    const most = new Float64Array(isShared ? fits.length : 0);
    const having = new Uint32Array(isShared ? fits.length : 0);
    for (let at = 0; at < tools.length; at += 1) {
      const tool = tools[at] as number;
      const score = given[at] as number;
      scores[tool] = (scores[tool] as number) + score;
      if (!isShared) continue;
      const server = this.#serverOf[tool] as number;
      if (score > (most[server] as number)) most[server] = score;
      having[server] = (having[server] as number) + 1;
    }
    for (let server = 0; server < most.length; server += 1)
      if (having[server] !== 0)
        fits[server] =
          (fits[server] as number) +
          (most[server] as number) *
            ((having[server] as number) / (this.#serverSizes[server] as number)) ** serverShare;
  }
}

/** The scores of one text by words and meaning, with 1 for the best. A tool without a vector is taken to fit by meaning as it does by words. */
function withMeaning(scores: Float64Array, meaning: Meaning | undefined, at: number): Float64Array {
  const question = meaning?.question[at];
  if (meaning === undefined || question === undefined) return scores;
  const { tools, servers } = meaning.tools.fits(question);
  let most = 0;
  const both = scores.map((score, tool) => {
    const own = tools[tool] ?? Number.NaN;
    const ofServer = servers === undefined ? 0 : (servers[tool] ?? Number.NaN);
    const sum =
      score +
      meaningWeight * (Number.isNaN(own) ? score : own) +
      serverMeaningWeight * (Number.isNaN(ofServer) ? score : ofServer);
    if (sum > most) most = sum;
    return sum;
  });
  return most === 0 ? both : both.map((score) => score / most);
}

/** The terms and pairs of terms of a question with their weights. */
function wantedOf(text: string): ReadonlyMap<string, number> {
  const terms = termsOf(text);
  const wanted = new Map(terms.map((term) => [term, /^\d+$/.test(term) ? numberWeight : 1]));
  terms.forEach((term, at) => {
    if (at > 0) wanted.set(pairOf(terms[at - 1] as string, term), pairWeight);
  });
  return wanted;
}

/** No term has a space. */
const pairOf = (one: string, other: string): string => `${one} ${other}`;

type Postings = ReadonlyMap<string, Posting>;

/** Tools, or terms divided by 40, of which a step takes care. */
const perStep = 25;

/** The tools of each term. It stops after each step. */
function* postingsOf(tools: readonly SearchableTool[]): Generator<void, Postings> {
  const documents: (readonly (readonly string[])[])[] = [];
  for (const tool of tools) {
    documents.push(textsOf(tool).map((text) => termsOf(text)));
    if (documents.length % perStep === 0) yield;
  }
  const averages = Array.from({ length: fieldCount }, (_none, field) =>
    Math.max(documents.reduce((sum, fields) => sum + (fields[field]?.length ?? 0), 0) / documents.length, 1),
  );
  const postings = new Map<string, { readonly tools: number[]; readonly weights: number[] }>();
  for (const [tool, fields] of documents.entries()) {
    for (const [term, weight] of weightsOf(fields, averages)) {
      const posting = postings.get(term);
      if (posting === undefined) postings.set(term, { tools: [tool], weights: [weight] });
      else {
        posting.tools.push(tool);
        posting.weights.push(weight);
      }
    }
    if (tool % perStep === perStep - 1) yield;
  }
  const made = new Map<string, Posting>();
  for (const [term, posting] of postings) {
    made.set(term, { tools: Uint32Array.from(posting.tools), weights: Float32Array.from(posting.weights) });
    if (made.size % (40 * perStep) === 0) yield;
  }
  return made;
}

function atOnce(steps: Generator<void, Postings>): Postings {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** The weight of each term of a tool. @param averages lengths of the fields over all tools. */
function weightsOf(fields: readonly (readonly string[])[], averages: readonly number[]): ReadonlyMap<string, number> {
  const all = new Map<string, number>();
  fields.forEach((terms, field) => {
    const b = byLength[field] as number;
    const weight = (weights[field] as number) / (1 - b + (b * terms.length) / (averages[field] as number));
    terms.forEach((term, at) => {
      all.set(term, (all.get(term) ?? 0) + weight);
      if (field > 1 || at === 0) return;
      const pair = pairOf(terms[at - 1] as string, term);
      all.set(pair, (all.get(pair) ?? 0) + weight);
    });
  });
  return all;
}

/** The best of the wanted tools. Of two with the same score, the one that comes first in the list. */
function best(
  scores: Float64Array,
  limit: number,
  isWanted: (index: number) => boolean = () => true,
): readonly Found[] {
  const found: Found[] = [];
  for (let index = 0; index < scores.length; index += 1) {
    const score = scores[index] as number;
    const last = found[limit - 1];
    if (score === 0 || (last !== undefined && last.score >= score) || !isWanted(index)) continue;
    let at = Math.min(found.length, limit - 1);
    while (at > 0 && (found[at - 1] as Found).score < score) at -= 1;
    found.splice(at, 0, { index, score });
    found.length = Math.min(found.length, limit);
  }
  return found;
}
