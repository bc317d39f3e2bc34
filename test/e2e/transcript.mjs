// Prints what a client saw, without what changes from run to run.
const opaque = /^(generation_id|lexical_generation|next_cursor|cursor)$/;

function steady(key, value) {
  if (key === "query_seconds" || key === "generated_at") return "<varies>";
  if (opaque.test(key) && typeof value === "string") return "<opaque>";
  if (key === "text" && typeof value === "string") {
    return value.replace(/^(generation_id|next_cursor): .*$/gm, "$1: <opaque>").replace(/"cursor":"[^"]*"/g, '"cursor":"<opaque>"');
  }
  return value;
}

export function record(title, value) {
  console.log(`## ${title}`.replace(/"cursor":"[^"]*"/, '"cursor":"<opaque>"'));
  console.log(JSON.stringify(value, steady, 1));
}
