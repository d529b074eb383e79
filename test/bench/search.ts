/**
 * `npm run bench -- search --set FILE [--set FILE] [--model FOLDER|URL] [--name MODEL]`: how well and how fast tools are found, by words or with a model too. The
 * project ships no set of questions; a file has
 * `{ tools: [{ id, server, name, description, inputSchema }], queries: [{ text, relevant: [ids], groups?: [[ids]] }] }`.
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import {
  maxQueryLength,
  openModel,
  questionTexts,
  ToolIndex,
  toolText,
  toolVectors,
  ToolVectors,
  type EmbeddingModel,
  type Meaning,
  type PackedVector,
  type SearchableTool,
} from '@omnibus/search';

interface QuestionSet {
  readonly tools: readonly (SearchableTool & { readonly id: string })[];
  /** Any tool of a group answers that part of a question; without groups each relevant tool is a part. */
  readonly queries: readonly {
    readonly text: string;
    readonly relevant: readonly string[];
    readonly groups?: readonly (readonly string[])[];
  }[];
}

const depths = [1, 5, 10] as const;
/** The time of a query is measured with so many tools. */
const timedTools = 2_000;

function recallOf({ tools, queries }: QuestionSet, meanings: readonly Meaning[]): number[] {
  const index = new ToolIndex(tools);
  const found = queries.map(({ text }, at) =>
    index.search(text, 10, undefined, meanings[at]).map((each) => tools[each.index]?.id),
  );
  return depths.map((depth) => {
    const shares = queries.map(({ relevant, groups = relevant.map((id) => [id]) }, at) => {
      const first = new Set(found[at]?.slice(0, depth));
      return groups.filter((ids) => ids.some((id) => first.has(id))).length / groups.length;
    });
    return shares.reduce((sum, share) => sum + share, 0) / shares.length;
  });
}

/** The meaning of each query of a set. */
async function meaningsOf({ tools, queries }: QuestionSet, model: EmbeddingModel): Promise<readonly Meaning[]> {
  const vectors = new ToolVectors(
    tools.map(({ server }) => server),
    await ofTools(model, tools.map(toolText)),
  );
  const meanings: Meaning[] = [];
  for (const { text } of queries)
    meanings.push({ tools: vectors, question: await embedded(model, questionTexts(text.slice(0, maxQueryLength))) });
  return meanings;
}

async function ofTools(
  model: EmbeddingModel,
  texts: readonly string[],
): Promise<readonly (PackedVector | undefined)[]> {
  const vectors: (PackedVector | undefined)[] = [];
  for (let at = 0; at < texts.length; at += model.batch)
    vectors.push(...(await toolVectors(model, texts.slice(at, at + model.batch), AbortSignal.timeout(120_000))));
  return vectors;
}

async function embedded(model: EmbeddingModel, texts: readonly string[]): Promise<readonly PackedVector[]> {
  const vectors: PackedVector[] = [];
  for (let at = 0; at < texts.length; at += model.batch)
    vectors.push(...(await model.embed(texts.slice(at, at + model.batch), AbortSignal.timeout(120_000))));
  return vectors;
}

/** Milliseconds of processor time, which other programs on the machine do not change. */
function timeOf({ tools, queries }: QuestionSet): number {
  const many = Array.from({ length: timedTools }, (_none, at) => {
    const tool = tools[at % tools.length] as SearchableTool;
    return { ...tool, server: `${tool.server}-${Math.floor(at / tools.length)}` };
  });
  const index = new ToolIndex(many);
  for (const { text } of queries) index.search(text, 10);
  const before = process.cpuUsage();
  for (const { text } of queries) index.search(text, 10);
  return process.cpuUsage(before).user / 1_000 / queries.length;
}

// Recall at 1, 5 and 10, and milliseconds of processor time for a query, as a table in Markdown.
const given = (option: string): string[] =>
  process.argv.flatMap((arg, at) => (process.argv[at - 1] === option ? [arg] : []));
const files = given('--set');
const [place] = given('--model');
const [name] = given('--name');
const model =
  place === undefined ? undefined : await openModel(/^https?:/.test(place) ? { url: place, name } : { folder: place });
if (files.length === 0) throw new Error('give at least one set of questions: npm run bench -- search --set FILE');
console.log(`| set | tools | queries | R@1 | R@5 | R@10 | ms a query at ${timedTools} tools |`);
console.log('|---|---:|---:|---:|---:|---:|---:|');
for (const file of files) {
  const set = JSON.parse(readFileSync(file, 'utf8')) as QuestionSet;
  const meanings = model === undefined ? [] : await meaningsOf(set, model);
  const recalls = recallOf(set, meanings).map((recall) => recall.toFixed(3).replace(/^0/, ''));
  const cells = [basename(file), set.tools.length, set.queries.length, ...recalls, timeOf(set).toFixed(2)];
  console.log(`| ${cells.join(' | ')} |`);
}
await model?.close();
