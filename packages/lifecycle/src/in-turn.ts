/** @returns a function that runs acts one after the other, each also after one that has failed, and returns the outcome of its act. */
export function inTurn(): <Result>(act: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (act) => {
    const done = last.then(act);
    last = done.catch(() => undefined);
    return done;
  };
}
