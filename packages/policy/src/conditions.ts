/** The conditions of a rule on a call's arguments, the time and the caller's network. */
import { BlockList, isIP } from 'node:net';
import {
  compileGlob,
  isObject,
  isRawNumber,
  isRounded,
  numberOf,
  type JsonObject,
  type Labels,
} from '@omnibus/protocol';
import type { ArgumentSettings, TimeSettings } from './settings.ts';
import { periodOf } from './period.ts';
import { mayMean, typeOf } from './readings.ts';
import { both, verdictOf, type Verdict } from './verdict.ts';
import type { WhoFacts } from './who.ts';
import type { TargetKind } from './selector.ts';

/** The inputs of a condition. */
export interface Circumstances {
  readonly facts: WhoFacts;
  readonly kind: TargetKind;
  readonly method: string;
  readonly server: string;
  /** The server's own name of a tool or prompt, or a URI. */
  readonly name: string;
  /** As the server gets them: arguments that the endpoint fixes are among them. */
  readonly args: JsonObject | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The client's address; undefined when it is unknown. */
  readonly address: string | undefined;
  /** Whether the request is about something that runs already, such as a task, for which arguments, `when` and the time were evaluated when it began. */
  readonly isBegun?: boolean | undefined;
  /** The endpoint of the request; undefined if it is unknown. */
  readonly endpoint?: string | undefined;
  /** Labels of the conversation; undefined if they are unknown, so that conditions on them count against the caller. */
  readonly labels?: Labels | undefined;
}

export type Condition = (circumstances: Circumstances) => Verdict;

/** Compiles a regular expression. @returns whether a whole text matches; undefined for a text that cannot be judged. */
export type CompileRegular = (pattern: string) => (text: string) => boolean | undefined;

/** Whether an argument that is left out counts for or against the caller. */
type Missing = 'in-favour' | 'against';

/**
 * @param isDenying whether the rule denies; what counts against the caller then fulfils the condition.
 * @param regular needed where a condition has `matches`.
 */
export function argumentCondition(
  settings: Readonly<Record<string, ArgumentSettings>>,
  isDenying: boolean,
  regular?: CompileRegular,
): Condition {
  if (Object.keys(settings).length === 0) throw new Error('expected a condition on at least one argument');
  const tests = Object.entries(settings).map(([name, each]) => {
    const steps = name.startsWith('/')
      ? name
          .slice(1)
          .split('/')
          .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
      : [name];
    const missing: Missing = each.optional === true ? 'in-favour' : 'against';
    const contradiction = contradictionIn(each);
    if (contradiction !== undefined) throw new Error(contradiction);
    return { steps, test: argumentTest(each, regular), missing };
  });
  return ({ args }) =>
    tests.reduce<Verdict>((verdict, { steps, test, missing }) => {
      if (verdict === 'no') return verdict;
      const value = valueAt(args, steps);
      if (value === unreachable) return both(verdict, 'unknown');
      return both(
        verdict,
        value === undefined ? (missing === 'against' ? 'unknown' : verdictOf(!isDenying)) : test(value),
      );
    }, 'yes');
}

/** Stands for the value at a pointer that leads through a text, a number or `null`: it is not left out, since what holds it is of another type. */
const unreachable = Symbol('unreachable');
const itemIndex = /^(?:0|[1-9]\d{0,9})$/;

/** Reads own members only: what an object inherits is not an argument. Steps into a list are the numbers of its items (RFC 6901 section 4). */
function valueAt(args: JsonObject | undefined, steps: readonly string[]): unknown {
  let at: unknown = args;
  for (const step of steps) {
    if (at === undefined) return undefined;
    if (Array.isArray(at)) at = itemIndex.test(step) ? at[Number(step)] : unreachable;
    else if (isObject(at)) at = Object.hasOwn(at, step) ? at[step] : undefined;
    else return unreachable;
  }
  return at;
}

/** Why no value can meet the conditions, for the operator; undefined if one may. */
function contradictionIn({ min, max, in: allowed, maxLength, pattern, matches }: ArgumentSettings): string | undefined {
  if (min !== undefined && max !== undefined && min > max) return `no number is at least ${min} and at most ${max}`;
  if (allowed?.length === 0) return '`in` is empty, so no value matches it';
  return (min ?? max) !== undefined && (maxLength ?? pattern ?? matches) !== undefined
    ? 'no value is a number (`min`, `max`) and a text (`maxLength`, `pattern`, `matches`)'
    : undefined;
}

/** @throws {Error} with a message for the operator when no value can meet the conditions, so that a rule that denies would deny nothing. */
function argumentTest(
  { min, max, in: allowed, maxLength, pattern, matches }: ArgumentSettings,
  regular: CompileRegular | undefined,
): (value: unknown) => Verdict {
  const tests: ((value: unknown) => Verdict)[] = [];
  if (min !== undefined) tests.push(numberTest(min, (number) => number >= min));
  if (max !== undefined) tests.push(numberTest(max, (number) => number <= max));
  if (allowed !== undefined) tests.push(memberTest(allowed));
  if (maxLength !== undefined) tests.push(lengthTest(maxLength));
  if (pattern !== undefined) tests.push(globTest([pattern].flat()));
  if (matches !== undefined && regular !== undefined) tests.push(regularTest([matches].flat(), regular));
  if (tests.length === 0) throw new Error('expected `min`, `max`, `in`, `maxLength`, `pattern` or `matches`');
  const verdictOn = allOf(tests);
  if (allowed?.every((value) => verdictOn(value) !== 'yes') === true)
    throw new Error('nothing under `in` meets the other conditions');
  return verdictOn;
}

const lengthTest =
  (most: number) =>
  (value: unknown): Verdict =>
    typeof value === 'string' || Array.isArray(value) ? verdictOf(value.length <= most) : 'unknown';

const allOf =
  (tests: readonly ((value: unknown) => Verdict)[]) =>
  (value: unknown): Verdict =>
    tests.reduce<Verdict>((verdict, test) => both(verdict, test(value)), 'yes');

/** A text that may be several addresses cannot be judged by a glob for one. */
function globTest(texts: readonly string[]): (value: unknown) => Verdict {
  const globs = texts.map((glob) => compileGlob(glob));
  const isOfAddresses = texts.some((glob) => addressGlob.test(glob));
  return (value) =>
    typeof value !== 'string' || (isOfAddresses && isAddressList(value))
      ? 'unknown'
      : verdictOf(globs.some((fits) => fits(value)));
}

/** A text that is too long for one of the expressions, and matches none, cannot be judged. */
function regularTest(patterns: readonly string[], regular: CompileRegular): (value: unknown) => Verdict {
  const tests = patterns.map((pattern) => regular(pattern));
  return (value) => {
    if (typeof value !== 'string') return 'unknown';
    const results = tests.map((matches) => matches(value));
    return results.includes(true) ? 'yes' : results.includes(undefined) ? 'unknown' : 'no';
  };
}

/** A glob for addresses of any name, such as `*@example.com`. */
const addressGlob = /\*[^@]*@/;

/** Whether a text may be several addresses (RFC 5322 section 3.4): it is a list then, of which each would have to be judged. */
function isAddressList(text: string): boolean {
  const at = text.indexOf('@');
  return at !== -1 && (text.includes('@', at + 1) || /[\s,;<>]/u.test(text));
}

/** Whether a double is all that is known of a number of which more was written. */
const isInexact = (value: unknown): boolean => isRawNumber(value) && isRounded(value);

/** Compares by value: `9.0` is 9. A number that a double cannot tell from the bound is neither above nor below it. */
function numberTest(bound: number, holds: (number: number) => boolean): (value: unknown) => Verdict {
  return (value) => {
    const number = numberOf(value);
    return number === undefined || (number === bound && isInexact(value)) ? 'unknown' : verdictOf(holds(number));
  };
}

/**
 * Whether a value is one of several. It is not judged if none of them has its type, or if a server may read it as one of another type: `"9"` as 9, and `1` as
 * true.
 */
function memberTest(allowed: readonly unknown[]): (value: unknown) => Verdict {
  const types = new Set(allowed.map(typeOf));
  return (value) => {
    const is = numberOf(value) ?? value;
    const isOne = allowed.includes(is);
    const isUnclear = isOne ? isInexact(value) : !types.has(typeOf(is)) || allowed.some((each) => mayMean(is, each));
    return isUnclear ? 'unknown' : verdictOf(isOne);
  };
}

const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
const minutesOfDay = 24 * 60;

/** @throws {Error} with a message for the operator when the settings are invalid. */
export function timeCondition({ days, hours, from: start, until: end, zone = 'UTC' }: TimeSettings): Condition {
  if ((days ?? hours ?? start ?? end) === undefined) throw new Error('expected `days`, `hours`, `from` or `until`');
  if (days !== undefined && [days].flat().length === 0) throw new Error('`days` is empty, so no day matches it');
  const onDays = days === undefined ? undefined : daysOf(days);
  const [from, to] = hours === undefined ? [0, minutesOfDay] : hoursOf(hours);
  const clock = clockIn(zone);
  const period = periodOf(start, end, zone);
  const isIn = (minute: number): boolean => (from < to ? from <= minute && minute < to : minute >= from || minute < to);
  const isAlways = days === undefined && hours === undefined;
  return ({ now }) => {
    if (now < period.from || now >= period.until) return 'no';
    if (isAlways) return 'yes';
    const { day, minute } = clock(now);
    return verdictOf(onDays?.has(day) !== false && isIn(minute));
  };
}

function daysOf(days: string | readonly string[]): ReadonlySet<number> {
  return new Set(
    (typeof days === 'string' ? days.split(',') : days).flatMap((each) => {
      const [first = '', last = first, ...more] = each.trim().toLowerCase().split('-');
      const [from, to] = [dayNames.indexOf(first as 'sun'), dayNames.indexOf(last as 'sun')];
      if (from === -1 || to === -1 || more.length > 0)
        throw new Error(`expected days such as "mon-fri" or "sat, sun", got ${JSON.stringify(each)}`);
      return Array.from({ length: ((to - from + 7) % 7) + 1 }, (_, index) => (from + index) % 7);
    }),
  );
}

function hoursOf(hours: string): readonly [number, number] {
  const found = /^(\d{2}):(\d{2})-(\d{2}):(\d{2})$/.exec(hours)?.slice(1).map(Number);
  const [fromHour = 99, fromMinute = 99, toHour = 99, toMinute = 99] = found ?? [];
  const [from, to] = [fromHour * 60 + fromMinute, toHour * 60 + toMinute];
  if (fromMinute > 59 || toMinute > 59 || from >= minutesOfDay || to > minutesOfDay || from === to)
    throw new Error(`expected hours such as "08:00-18:00", got ${JSON.stringify(hours)}`);
  return [from, to];
}

/** The day and minute of a time in a time zone. It is computed for each call, so the result for the last minute is cached. */
function clockIn(zone: string): (now: number) => { readonly day: number; readonly minute: number } {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
  } catch (error) {
    throw new Error(`there is no time zone ${JSON.stringify(zone)}`, { cause: error });
  }
  let known = { at: Number.NaN, day: 0, minute: 0 };
  return (now) => {
    const at = Math.floor(now / 60_000);
    if (at !== known.at) {
      const parts = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]));
      known = {
        at,
        day: dayNames.indexOf((parts['weekday'] ?? '').toLowerCase() as 'sun'),
        minute: Number(parts['hour']) * 60 + Number(parts['minute']),
      };
    }
    return known;
  };
}

/** @throws {Error} with a message for the operator when one of them is not an address or network. */
export function networkCondition(networks: string | readonly string[]): Condition {
  const list = new BlockList();
  if ([networks].flat().length === 0) throw new Error('expected an IP address or a network such as "10.0.0.0/8"');
  for (const each of typeof networks === 'string' ? [networks] : networks) {
    const [address = '', bits, ...more] = each.split('/');
    const family = isIP(address);
    const length = bits === undefined ? (family === 6 ? 128 : 32) : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (family === 0 || more.length > 0 || !(length <= (family === 6 ? 128 : 32)))
      throw new Error(`expected an IP address or a network such as "10.0.0.0/8", got ${JSON.stringify(each)}`);
    list.addSubnet(address, length, family === 6 ? 'ipv6' : 'ipv4');
  }
  return ({ address }) => {
    const family = address === undefined ? 0 : isIP(address);
    return address === undefined || family === 0
      ? 'unknown'
      : verdictOf(list.check(address, family === 6 ? 'ipv6' : 'ipv4'));
  };
}
