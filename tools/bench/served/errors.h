// The rows of the scenario server about the groups of the errors of many failing keys.
#pragma once

namespace wq::bench {

class Bench;

// The page's question which errors there are, over HTTP: the first time, and again at once.
void MeasureErrors(Bench& bench);

}  // namespace wq::bench
