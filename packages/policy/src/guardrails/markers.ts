/**
 * Phrases with which a text addresses a model, as in prompt injections. Texts about such phrases contain them too, and an attacker can avoid them, so a
 * finding is only ever a label. Each expression does a bounded amount of work for each character.
 */
const gap = String.raw`[\s\p{P}]{1,4}`;
const phrase = (...words: readonly string[]): RegExp =>
  new RegExp(String.raw`(?<!\p{L})${words.join(gap)}(?!\p{L})`, 'iu');

const markers: readonly RegExp[] = [
  phrase(
    '(?:ignore|disregard|forget|override)',
    '(?:(?:all|any|the|your|every|of|these)\\s){0,3}(?:previous|prior|earlier|above|preceding|system|original)',
    '(?:instructions?|prompts?|rules?|messages?|context|guidelines)',
  ),
  phrase(
    "(?:do\\snot|don'?t|never)",
    '(?:tell|inform|mention|reveal|show|notify|alert)',
    '(?:this\\s|it\\s|anything\\s){0,1}(?:to\\s){0,1}(?:the\\s){0,1}(?:user|human|operator)',
  ),
  phrase('without', '(?:telling|informing|asking|notifying|alerting)', '(?:the\\s){0,1}(?:user|human)'),
  phrase('(?:you\\sare\\snow|from\\snow\\son,?\\syou)', '(?:are|will|must|act|a|an|in)'),
  phrase('before', '(?:using|calling|invoking)', '(?:this|any|other)', '(?:other\\s){0,1}tools?'),
  phrase('new', '(?:system\\s){0,1}instructions?', '(?:follow|are|below)'),
  /<\s{0,4}\/?\s{0,4}(?:important|system|instructions?|assistant|secret)\s{0,4}>/iu,
  /<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id)\|>/iu,
  /\[\/?(?:INST|SYS|SYSTEM)\]|<<\/?SYS>>/u,
  /(?:^|\n)\s{0,8}(?:#{1,6}\s{0,4})?(?:system|assistant|developer)\s{0,4}:\s/iu,
];

/** Whether a text contains such a phrase. */
export function hasMarker(text: string): boolean {
  return markers.some((marker) => marker.test(text));
}
