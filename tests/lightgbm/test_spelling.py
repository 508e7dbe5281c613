"""LightGBM reads names of metrics and boosters as if they were written small."""

import lightgbm as lgb
import pytest

from gainsay.data import simulate
from gainsay.lightgbm import early_stopping, feval

TRAIN, VALID = simulate(40, seed=1, mean_length=8).split_queries(0.5, 0.5, seed=0)


def trained(named, **options):
    params = {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 3, **options}
    train = lgb.Dataset(TRAIN.features, TRAIN.labels, group=TRAIN.group)
    valid = lgb.Dataset(VALID.features, VALID.labels, group=VALID.group, reference=train)
    stop = early_stopping(named, rounds=2, verbose=False)
    return lgb.train(params, train, 12, valid_sets=[valid], feval=feval(named), callbacks=[stop])


@pytest.mark.parametrize("spelt", ["MAP", "Map,ndcg", ["MAP"], " Mean_Average_Precision "])
def test_a_metric_of_its_own_is_known_however_it_is_spelt(spelt):
    with pytest.raises(ValueError, match="LightGBM itself logs a metric named 'map@5'"):
        trained("map@5", metric=spelt, eval_at=[5])


@pytest.mark.parametrize("boosting", ["dart", "DART", "Dart"])
def test_dart_does_not_stop_early_however_it_is_spelt(boosting):
    with pytest.warns(UserWarning, match="early stopping is not available with dart"):
        model = trained("mrr", metric="None", boosting=boosting)
    assert (model.best_iteration, model.current_iteration()) == (0, 12)
