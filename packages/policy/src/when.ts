/**
 * Conditions in CEL, the Common Expression Language, for conditions that other parts of a rule cannot express. The module is imported only when a rule has one.
 *
 * A caller's arguments decide how long a condition runs, so each operation is paid by the size of its values (`work.ts`, `guarded-cel.ts`), there are no regular
 * expressions (one of 29 characters can take JavaScript half a minute), and no list is iterated inside another iteration.
 */
import { Environment, type ASTNode } from '@marcbachmann/cel-js';
import { isRawNumber, isRounded, type JsonObject, type RawNumber } from '@omnibus/protocol';
import type { Circumstances } from './conditions.ts';
import { guard } from './guarded-cel.ts';
import { workOf, type Work } from './work.ts';

const limits = { maxAstNodes: 200, maxDepth: 50, maxListElements: 200, maxMapEntries: 100, maxCallArguments: 8 };
const macros: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

const callerMembers: ReadonlySet<string> = new Set([
  'issuer',
  'subject',
  'groups',
  'scopes',
  'tenant',
  'client',
  'claims',
  'actors',
]);

const environment = new Environment({ limits, homogeneousAggregateLiterals: false })
  .registerVariable('args', 'map')
  .registerVariable('caller', 'map')
  .registerVariable('method', 'string')
  .registerVariable('server', 'string')
  .registerVariable('name', 'string');

/**
 * @returns a function that tells whether the condition holds, and throws when it cannot be evaluated: a member is missing, or of another type.
 * @throws {Error} with a message for the operator when the text is not an accepted condition.
 */
export function compileWhen(text: string): (circumstances: Circumstances) => boolean {
  const parsed = parse(text);
  const problem = problemOf(parsed.ast, false);
  if (problem !== undefined) throw new Error(problem);
  const { valid, type, error } = parsed.check();
  if (!valid) throw new Error(error?.message ?? 'is no expression');
  if (type !== 'bool' && type !== 'dyn')
    throw new Error(`has to be true or false, and is of type ${type ?? 'unknown'}`);
  let work: Work | undefined;
  guard(parsed.ast, () => work as Work);
  return (circumstances) => {
    const { facts, args, method, server, name } = circumstances;
    const caller =
      facts === undefined
        ? { issuer: '', subject: '', groups: [], scopes: [], tenant: '', client: '', claims: {}, actors: [] }
        : {
            issuer: facts.issuer,
            subject: facts.subject,
            groups: facts.groups,
            scopes: facts.scopes,
            tenant: facts.tenant ?? '',
            client: facts.client ?? '',
            claims: facts.claims ?? {},
            actors: facts.actors.map(({ issuer, subject }) => ({ issuer, subject })),
          };
    work = workOf(circumstances);
    work.spend(1);
    const holds: unknown = parsed({ args: withNumbers(args ?? {}), caller, method, server, name });
    // An error inside `||`, `&&` and iterations may have been absorbed.
    work.spend(0);
    if (typeof holds !== 'boolean') throw new Error('is neither true nor false');
    return holds;
  };
}

/** Arguments in which each number is one that CEL can compare by its value; the same object where they have no raw number. */
function withNumbers(args: JsonObject): JsonObject {
  const known = numbered.get(args);
  if (known !== undefined) return known;
  const made = numbersIn(args) as JsonObject;
  numbered.set(args, made);
  return made;
}

const numbered = new WeakMap<JsonObject, JsonObject>();

function numbersIn(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isRawNumber(value)) return numberFor(value);
  const was = value as Readonly<Record<string, unknown>>;
  let made: Record<string, unknown> | undefined;
  for (const [key, member] of Object.entries(was)) {
    const is = numbersIn(member);
    if (is === member) continue;
    made ??= (Array.isArray(value) ? [...(value as readonly unknown[])] : { ...was }) as Record<string, unknown>;
    made[key] = is;
  }
  return made ?? value;
}

/** A double; an integer of CEL where only that can hold it. */
function numberFor(raw: RawNumber): number | bigint {
  if (!isRounded(raw) || !/^-?\d{1,19}$/.test(raw.rawJSON)) return Number(raw.rawJSON);
  const integer = BigInt(raw.rawJSON);
  return BigInt.asIntN(64, integer) === integer ? integer : Number(integer);
}

/** @throws {Error} with a message for the operator, and the CEL operator for a word of another language. */
function parse(text: string): ReturnType<typeof environment.parse> {
  try {
    return environment.parse(text);
  } catch (error) {
    throw new Error(`${(error as Error).message}\nCEL has "&&", "||", "!", "==" and "in", and texts in quotes`, {
      cause: error,
    });
  }
}

/** @param isInside whether the node is inside an iteration over a list. */
function problemOf(node: ASTNode, isInside: boolean): string | undefined {
  const called = node.op === 'rcall' || node.op === 'call' ? node.args[0] : undefined;
  if (called === 'matches')
    return '`matches` is not taken, since what a caller sends could make it work for minutes; use startsWith, endsWith, contains, or `matches` under `args`';
  const member = node.op === '.' || node.op === '.?' || node.op === '[]' ? node.args : undefined;
  if (member?.[0].op === 'id' && member[0].args === 'caller') {
    const name: unknown =
      typeof member[1] === 'string' ? member[1] : member[1].op === 'value' ? member[1].args : undefined;
    if (typeof name === 'string' && !callerMembers.has(name))
      return `a caller has no ${JSON.stringify(name)}, but ${[...callerMembers].join(', ')}`;
  }
  const isMacro = node.op === 'rcall' && macros.has(String(called));
  if (isMacro && isInside)
    return `\`${String(called)}\` inside another one is not taken, since what a caller sends could make it work for minutes`;
  for (const child of childrenOf(node.args)) {
    const problem = problemOf(child, isInside || isMacro);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function childrenOf(value: unknown): ASTNode[] {
  if (Array.isArray(value)) return value.flatMap(childrenOf);
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value ? [value as ASTNode] : [];
}
