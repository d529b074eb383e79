/** The differences between a definition and the approved one, and the risks in them, for a person that decides about an approval. */
import { canonical, isObject, isRawNumber, type DefinedKind, type JsonObject } from '@omnibus/protocol';
import { drawn, findingsIn, hidesText } from './hidden-text.ts';

/** One place at which they differ; `before` or `after` is left out where there is no value. */
export interface Difference {
  /** Path of the place, such as `inputSchema.properties.bcc`. */
  readonly at: string;
  /** The value as JSON, with invisible characters written as code points. */
  readonly before?: string;
  readonly after?: string;
}

/** Bound on displayed differences; a replaced definition may have many more. */
const maxDifferences = 100;
/** Bound on displayed characters of one value. */
const maxShown = 2_000;

const show = (value: unknown): string => drawn(canonical(value)).slice(0, maxShown);
const isLeaf = (value: unknown): boolean => typeof value !== 'object' || value === null || isRawNumber(value);

export function differencesOf(before: unknown, after: unknown): readonly Difference[] {
  const found: Difference[] = [];
  const compare = (at: string, one: unknown, other: unknown): void => {
    if (found.length >= maxDifferences || canonical(one) === canonical(other)) return;
    if (
      one === undefined ||
      other === undefined ||
      isLeaf(one) ||
      isLeaf(other) ||
      Array.isArray(one) !== Array.isArray(other)
    ) {
      found.push({
        at,
        ...(one === undefined ? {} : { before: show(one) }),
        ...(other === undefined ? {} : { after: show(other) }),
      });
      return;
    }
    const [left, right] = [one as JsonObject, other as JsonObject];
    for (const key of new Set([...Object.keys(left), ...Object.keys(right)]))
      compare(at === '' ? drawn(key) : `${at}.${drawn(key)}`, left[key], right[key]);
  };
  compare('', before, after);
  return found;
}

/** The risks of a change, in words. @param before undefined for a new definition. */
export function risksOf(kind: DefinedKind, before: JsonObject | undefined, after: JsonObject): readonly string[] {
  return [...(before === undefined ? [] : changedRisks(kind, before, after)), ...textRisks(after)];
}

/** Whether a definition contains characters that only hide text. */
export function isHiding(definition: unknown): boolean {
  if (typeof definition === 'string') return hidesText(definition);
  if (typeof definition !== 'object' || definition === null) return false;
  return Object.entries(definition).some(([key, each]) => hidesText(key) || isHiding(each));
}

function textRisks(definition: unknown): readonly string[] {
  const found = new Set<string>();
  const look = (value: unknown, at: string): void => {
    if (typeof value === 'string')
      for (const what of findingsIn(value)) found.add(`${at === '' ? 'it' : at} has ${what}`);
    if (typeof value !== 'object' || value === null) return;
    for (const [key, each] of Object.entries(value)) {
      const name = Array.isArray(value) ? at : at === '' ? drawn(key) : `${at}.${drawn(key)}`;
      if (!Array.isArray(value)) look(key, `a name in ${at === '' ? 'it' : at}`);
      look(each, name);
    }
  };
  look(definition, '');
  return [...found].slice(0, maxDifferences);
}

function changedRisks(kind: DefinedKind, before: JsonObject, after: JsonObject): readonly string[] {
  const [were, are] = [argumentsOf(kind, before), argumentsOf(kind, after)];
  const risks = [...are].flatMap(([name, isRequired]) => {
    const shown = drawn(name);
    if (!were.has(name))
      return [isRequired ? `it wants a new argument "${shown}"` : `it takes a new argument "${shown}"`];
    return isRequired && were.get(name) === false
      ? [`it wants the argument "${shown}", which could be left out before`]
      : [];
  });
  const [said, says] = [hintsOf(before), hintsOf(after)];
  if (said['readOnlyHint'] === true && says['readOnlyHint'] !== true)
    risks.push('it does not say any more that it only reads');
  if (said['readOnlyHint'] !== true && says['readOnlyHint'] === true) risks.push('it says now that it only reads');
  if (said['destructiveHint'] !== false && says['destructiveHint'] === false)
    risks.push('it says now that it destroys nothing');
  if (said['destructiveHint'] === false && says['destructiveHint'] !== false)
    risks.push('it does not say any more that it destroys nothing');
  if (said['openWorldHint'] === false && says['openWorldHint'] !== false)
    risks.push('it does not say any more that it stays with what it has');
  return risks;
}

const hintsOf = ({ annotations }: JsonObject): JsonObject => (isObject(annotations) ? annotations : {});

/** The arguments by name, and whether each is required. */
function argumentsOf(kind: DefinedKind, { inputSchema, arguments: given }: JsonObject): ReadonlyMap<string, boolean> {
  if (kind === 'prompts')
    return new Map(
      (Array.isArray(given) ? given : [])
        .filter(isObject)
        .map(({ name, required }) => [String(name), required === true]),
    );
  const { properties, required } = isObject(inputSchema) ? inputSchema : {};
  const wanted = new Set(Array.isArray(required) ? required : []);
  return new Map(Object.keys(isObject(properties) ? properties : {}).map((name) => [name, wanted.has(name)]));
}
