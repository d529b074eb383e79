/** Tells a client which of its arguments an error of the server means. The text of the server stays as it is. */
import { isObject, type ExchangeOutcome } from '@omnibus/protocol';
import { isHidden, type ToolShape } from './schema.ts';

/** Characters of an error in which names are looked for. */
const maxCharacters = 20_000;

export function withNames({ arguments: shapes }: ToolShape, outcome: ExchangeOutcome): ExchangeOutcome {
  if (outcome.kind === 'error') {
    const words = wordsFor(shapes, outcome.error.message);
    return words === undefined
      ? outcome
      : { ...outcome, error: { ...outcome.error, message: `${outcome.error.message} (${words})` } };
  }
  if (outcome.kind !== 'result' || outcome.result['isError'] !== true) return outcome;
  const { content } = outcome.result;
  if (!Array.isArray(content)) return outcome;
  const texts = content.flatMap((part: unknown) =>
    isObject(part) && typeof part['text'] === 'string' ? [part['text'].slice(0, maxCharacters)] : [],
  );
  const words = wordsFor(shapes, texts.join('\n'));
  return words === undefined
    ? outcome
    : {
        ...outcome,
        result: { ...outcome.result, content: [...(content as unknown[]), { type: 'text', text: words }] },
      };
}

/** @returns undefined if the text names no argument that clients see otherwise. */
function wordsFor(shapes: ToolShape['arguments'], text: string): string | undefined {
  const words = Object.entries(shapes).flatMap(([original, shape]) => {
    const isOther = isHidden(shape) || (shape.name !== undefined && shape.name !== original);
    if (!isOther || !hasWord(text.slice(0, maxCharacters), original)) return [];
    return isHidden(shape)
      ? `the gateway sets ${JSON.stringify(original)}`
      : `${JSON.stringify(original)} is the argument ${JSON.stringify(shape.name)}`;
  });
  return words.length === 0 ? undefined : `Names in this error: ${words.join('; ')}.`;
}

function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (!/[\w-]$/.test(text.slice(0, at)) && !/^[\w-]/.test(text.slice(at + word.length))) return true;
  }
  return false;
}
