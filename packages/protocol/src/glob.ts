/**
 * Globs over `server/tool`: `*` and `**` match any text including slashes, `?` one character, `[a-z]` and `[!a-z]` one of a set, `{a,b}` either text, and
 * `\` takes the next character literally. Since the matched names come from servers, the time is bounded by the lengths of name and glob.
 */
type CharacterTest = (character: string) => boolean;
/** A run: the part of a glob between two stars. */
type Run = readonly CharacterTest[];

/** @returns a function that decides whether a whole text matches the glob. */
export function compileGlob(glob: string): (text: string) => boolean {
  const alternatives = expandBraces(glob).map((each) => runsOf(each));
  return (text) => {
    const characters = Array.from(text);
    return alternatives.some((runs) => fits(runs, characters));
  };
}

/** @returns a function that decides whether the glob matches some text that begins in a certain way and is longer. */
export function compileGlobStart(glob: string): (start: string) => boolean {
  const alternatives = expandBraces(glob).map((each) => runsOf(each));
  return (start) => {
    const characters = Array.from(start);
    return alternatives.some((runs) => mayGoOn(runs, characters));
  };
}

/** Follows all ways at once in which the runs and the stars between them may take the characters. */
function mayGoOn(runs: readonly Run[], characters: readonly string[]): boolean {
  const pieces = runs.flatMap((run, index): readonly (CharacterTest | undefined)[] =>
    index === 0 ? run : [undefined, ...run],
  );
  /** Behind a star it may stand at the next piece too. */
  const withStars = (places: Iterable<number>): Set<number> => {
    const all = new Set<number>();
    for (let place of places) {
      all.add(place);
      while (place < pieces.length && pieces[place] === undefined) all.add((place += 1));
    }
    return all;
  };
  let places = withStars([0]);
  for (const character of characters) {
    const next: number[] = [];
    for (const place of places) {
      if (place === pieces.length) continue;
      const test = pieces[place];
      if (test === undefined) next.push(place);
      else if (test(character)) next.push(place + 1);
    }
    places = withStars(next);
  }
  return [...places].some((place) => place < pieces.length);
}

/** The first run must match at the beginning, the last one at the end, and each run between them at its first possible place. */
function fits(runs: readonly Run[], characters: readonly string[]): boolean {
  const [first = [], ...others] = runs;
  const last = others.pop();
  if (!standsAt(first, characters, 0)) return false;
  if (last === undefined) return first.length === characters.length;
  const end = characters.length - last.length;
  let at = first.length;
  for (const run of others) {
    while (at + run.length <= end && !standsAt(run, characters, at)) at += 1;
    at += run.length;
  }
  return at <= end && standsAt(last, characters, end);
}

function standsAt(run: Run, characters: readonly string[], at: number): boolean {
  return at + run.length <= characters.length && run.every((test, index) => test(characters[at + index] as string));
}

/** A star, any character, a set, an escaped character, or a character. */
const tokens = /\*+|\?|\[(!|\^)?((?:\\.|[^\]\\])+)\]|\\(.)|./gsu;

/** The runs of a glob; there is one more of them than there are stars. */
function runsOf(glob: string): Run[] {
  const runs: CharacterTest[][] = [[]];
  for (const [token, not, set, escaped] of glob.matchAll(tokens)) {
    if (token.startsWith('*')) runs.push([]);
    else
      runs
        .at(-1)
        ?.push(
          set === undefined ? (token === '?' ? () => true : literal(escaped ?? token)) : inSet(set, not !== undefined),
        );
  }
  return runs;
}

const literal =
  (expected: string): CharacterTest =>
  (character) =>
    character === expected;

function inSet(set: string, isNegated: boolean): CharacterTest {
  const ranges = [...set.matchAll(/(?:\\(.)|(.))(?:-(?:\\(.)|(.)))?/gsu)].map(
    ([, escaped, plain, escapedEnd, end]): readonly [number, number] => {
      const from = (escaped ?? plain ?? '').codePointAt(0) as number;
      return [from, (escapedEnd ?? end)?.codePointAt(0) ?? from];
    },
  );
  return (character) => {
    const code = character.codePointAt(0) as number;
    return ranges.some(([from, to]) => from <= code && code <= to) !== isNegated;
  };
}

/** Texts that a glob matches, to try rules with: one for each alternative and each character named in a set, at most `most`. */
export function namesLike(glob: string, most: number): readonly string[] {
  return expandBraces(glob)
    .slice(0, most)
    .flatMap((each) => {
      let names = [''];
      for (const [token, not, set, escaped] of each.matchAll(tokens)) {
        const pieces =
          token.startsWith('*') || token === '?'
            ? ['x']
            : set === undefined
              ? [escaped ?? token]
              : charactersOf(set, not !== undefined);
        names = names.flatMap((name) => pieces.map((piece) => `${name}${piece}`)).slice(0, most);
      }
      return names;
    })
    .slice(0, most);
}

function charactersOf(set: string, isNegated: boolean): readonly string[] {
  const fits = inSet(set, isNegated);
  const candidates = isNegated ? Array.from('xyz019_-') : Array.from(set);
  const found = candidates.filter((character) => fits(character));
  return isNegated ? found.slice(0, 1) : [...new Set(found)];
}

/** `a{b,c}` becomes `ab` and `ac`; braces without a comma are literal. */
function expandBraces(glob: string): string[] {
  const found = /^((?:\\.|[^\\{])*)\{((?:\\.|[^\\{}])*,(?:\\.|[^\\{}])*)\}(.*)$/su.exec(glob);
  if (found === null) return [glob];
  const [, before = '', either = '', after = ''] = found;
  const rest = expandBraces(after);
  return either.split(/(?<!\\),/).flatMap((each) => rest.map((end) => `${before}${each}${end}`));
}
