// Loads the extras, the page's second program, when somebody first wishes for one of its views.

let loading = null;
let failures = 0;

export function load() {
  // A browser remembers a failed import: the next try has another address.
  const address = failures === 0 ? "./extras.js" : `./extras.js?again=${failures}`;
  loading ??= import(address).then(async (extras) => {
    await extras.default();
    return extras;
  });
  loading.catch(() => {
    failures += 1;
    loading = null;
  });
  return loading;
}
