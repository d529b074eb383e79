/**
 * Guards around each operation of a condition in CEL: its size is paid before it runs (`work.ts`), and values of different types are not compared.
 *
 * CEL says that `"9" == 9` is false. A server may read `"9"` as 9, so a comparison of two types is an error here, which counts against the caller: also of
 * those in lists and maps that differ in nothing else.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { isObject } from '@omnibus/protocol';
import { difference, mayMean, typeOf } from './readings.ts';
import type { Work } from './work.ts';

type Handle = (...given: readonly unknown[]) => unknown;

/** A node after the library has checked its types: `handle` computes it from the values of its operands. The library does not declare these members. */
interface CheckedNode {
  readonly op: string;
  readonly args: unknown;
  handle?: Handle;
  readonly meta: {
    readonly alternate?: CheckedNode;
    readonly macro?: { readonly val?: unknown; readonly exp?: unknown };
  };
}

/** Arguments of an iteration over a list. */
interface Iteration {
  readonly iterable: CheckedNode;
  readonly init: CheckedNode;
  readonly step: CheckedNode;
  condition?: (value: unknown) => boolean;
}

const binary: ReadonlySet<string> = new Set(['==', '!=', 'in', '+', '-', '*', '/', '%', '<', '<=', '>', '>=']);
const charactersPerStep = 64;
/** A look at the calendar of a time zone. */
const zoneSteps = 1_000;

/**
 * Puts guards around all operations of an expression.
 * @param ast with checked types.
 * @param work the work of the evaluation that is going on.
 * @throws {Error} when the library has changed and cannot be guarded.
 */
export function guard(ast: ASTNode, work: () => Work): void {
  guardNode(ast as unknown as CheckedNode, work);
}

/** @returns the number of operations in the node. */
function guardNode(node: CheckedNode, work: () => Work): number {
  const { alternate, macro } = node.meta;
  if (alternate !== undefined) return guardNode(alternate, work);
  if (macro !== undefined) return 1 + guardAll([macro.val, macro.exp], work);
  if (node.op === 'comprehension') return guardIteration(node, node.args as Iteration, work);
  const count = 1 + guardAll(node.args, work);
  const { handle } = node;
  if (binary.has(node.op)) {
    const run = handleOf(node);
    node.handle = (left, right, ...more) => {
      work().spend(binarySteps(node.op, left, right));
      const result = run(left, right, ...more);
      refuseOtherTypes(node, left, right, result);
      return result;
    };
  } else if (node.op === 'call' || node.op === 'rcall') {
    const run = handleOf(node);
    const [name] = node.args as readonly [string];
    node.handle = (values, ...more) => {
      work().spend(callSteps(name, values as readonly unknown[]));
      return run(values, ...more);
    };
  } else if (handle !== undefined)
    node.handle = (...given) => {
      work().spend(1);
      return handle(...given);
    };
  return count;
}

function guardAll(nodes: unknown, work: () => Work): number {
  if (Array.isArray(nodes)) return nodes.reduce<number>((count, each) => count + guardAll(each, work), 0);
  return typeof nodes === 'object' && nodes !== null && 'op' in nodes && 'meta' in nodes
    ? guardNode(nodes as CheckedNode, work)
    : 0;
}

function guardIteration(node: CheckedNode, iteration: Iteration, work: () => Work): number {
  const perItem = guardAll([iteration.step], work);
  const { condition } = iteration;
  const run = handleOf(node);
  // `all` and `exists` go on after an error: this ends them when no work is left.
  if (condition !== undefined) iteration.condition = (value) => !work().isSpent && condition(value);
  node.handle = (items, ...more) => {
    work().spend(1 + countOf(items) * (1 + perItem));
    return run(items, ...more);
  };
  return perItem + guardAll([iteration.iterable, iteration.init], work);
}

function handleOf({ handle, op }: CheckedNode): Handle {
  if (typeof handle === 'function') return handle;
  throw new Error(`the CEL library has changed: the work of ${JSON.stringify(op)} cannot be bounded`);
}

function binarySteps(op: string, left: unknown, right: unknown): number {
  if (op === 'in') return 1 + countOf(right) * weightOf(left);
  if (op === '+') return 1 + sizeOf(left) + sizeOf(right);
  return 1 + weightOf(left) + weightOf(right);
}

/** Steps of a function, which looks at each of its values once; some look at one value for each part of another. */
function callSteps(name: string, values: readonly unknown[]): number {
  const [first, second] = values;
  const lengths = values.map((value) => (typeof value === 'string' ? value.length : 0));
  const [firstLength = 0, secondLength = 0] = lengths;
  switch (name) {
    case 'startsWith':
    case 'endsWith':
      return 1 + secondLength / charactersPerStep;
    case 'contains':
    case 'indexOf':
    case 'lastIndexOf':
      return 1 + (firstLength * Math.max(1, secondLength)) / charactersPerStep;
    case 'split':
      return 1 + firstLength + (firstLength * secondLength) / charactersPerStep;
    case 'join': {
      const size = Array.isArray(first) ? first.reduce<number>((sum, each) => sum + 1 + sizeOf(each), 0) : 0;
      return 1 + size + (countOf(first) * secondLength) / charactersPerStep;
    }
    case 'duration':
      // The library finds each unit by a search that tries all ways to part a run of digits.
      return 1 + firstLength ** 3;
    default:
      return name.startsWith('get') && second !== undefined
        ? zoneSteps
        : 1 + values.reduce<number>((sum, value) => sum + sizeOf(value), 0);
  }
}

/** Items of a list, or members of a map. */
function countOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length : 0;
}

/** The cost to copy a value, without the contents of its items. */
function sizeOf(value: unknown): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length / charactersPerStep : countOf(value);
}

/** The cost to compare a value with another one, with all contents. */
function weightOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + weightOf(each), 1);
  if (isObject(value)) return Object.values(value).reduce<number>((sum, each) => sum + 1 + weightOf(each), 1);
  return 1 + sizeOf(value);
}

/** @throws {Error} when values of different types were compared. A literal `null` may be compared with everything. */
function refuseOtherTypes(node: CheckedNode, left: unknown, right: unknown, result: unknown): void {
  if (node.op === 'in') {
    if (result !== false || countOf(right) === 0) return;
    if (Array.isArray(right) ? isCertainlyOut(left, right) : typeOf(left) === 'string') return;
  } else {
    if (node.op !== '==' && node.op !== '!=') return;
    if (result === (node.op === '==') || difference(left, right) !== 'unknown') return;
    if ((node.args as readonly CheckedNode[]).some(isNull)) return;
  }
  throw new Error('values of different types are not compared');
}

const isNull = ({ op, args }: CheckedNode): boolean => op === 'value' && args === null;

/** Whether a value that is none of the items is so for a server too, which may read one type as another. */
function isCertainlyOut(value: unknown, items: readonly unknown[]): boolean {
  const type = typeOf(value);
  return (
    items.some((item) => typeOf(item) === type) &&
    items.every((item) => (typeOf(item) === type ? difference(value, item) !== 'unknown' : !mayMean(value, item)))
  );
}
